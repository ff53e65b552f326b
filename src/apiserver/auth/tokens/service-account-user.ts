/** Which account a user name means. */
import { SERVICE_ACCOUNT_USER_PREFIX } from '../../../identity/service-account/user.ts'
import { dnsLabel, dnsSubdomain } from '../../kinds/names.ts'

/**
 * The account that a user name means, undefined for everything that only looks like one: a part too few or too many, or one
 * that no object can be called. Such a name is an ordinary user's, and brings none of the groups of accounts.
 */
export function serviceAccountOf(userName: string): { namespace: string; name: string } | undefined {
  if (!userName.startsWith(SERVICE_ACCOUNT_USER_PREFIX)) return undefined
  const [namespace = '', name = '', ...more] = userName.slice(SERVICE_ACCOUNT_USER_PREFIX.length).split(':')
  const isSound = more.length === 0 && dnsLabel(namespace).length === 0 && dnsSubdomain(name).length === 0
  return isSound ? { namespace, name } : undefined
}
