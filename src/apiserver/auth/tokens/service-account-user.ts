/** The user that a ServiceAccount is to the API. */
import { dnsLabel, dnsSubdomain } from '../../kinds/names.ts'
import type { UserInfo } from '../../request/user.ts'
import type { BoundObjects, ClaimedObject } from './claims.ts'

const SERVICE_ACCOUNTS_GROUP = 'system:serviceaccounts'
const prefix = 'system:serviceaccount:'

const extraPrefix = 'authentication.kubernetes.io'
/** The node on which the pod of a token runs. */
export const NODE_NAME_EXTRA = `${extraPrefix}/node-name`

export function serviceAccountUserName(namespace: string, name: string): string {
  return `${prefix}${namespace}:${name}`
}

/**
 * The account that a user name means, undefined for everything that only looks like one: a part too few or too many, or one
 * that no object can be called. Such a name is an ordinary user's, and brings none of the groups of accounts.
 */
export function serviceAccountOf(userName: string): { namespace: string; name: string } | undefined {
  if (!userName.startsWith(prefix)) return undefined
  const [namespace = '', name = '', ...more] = userName.slice(prefix.length).split(':')
  const isSound = more.length === 0 && dnsLabel(namespace).length === 0 && dnsSubdomain(name).length === 0
  return isSound ? { namespace, name } : undefined
}

export function serviceAccountGroups(namespace: string): string[] {
  return [SERVICE_ACCOUNTS_GROUP, `${SERVICE_ACCOUNTS_GROUP}:${namespace}`]
}

export interface ServiceAccountIdentity {
  readonly namespace: string
  readonly serviceAccount: ClaimedObject
  readonly bound: Pick<BoundObjects, 'pod' | 'node'>
  /** The `jti` of the token; empty if it has none. */
  readonly tokenId: string
}

export function serviceAccountUser({ namespace, serviceAccount, bound, tokenId }: ServiceAccountIdentity): UserInfo {
  return {
    name: serviceAccountUserName(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: serviceAccountGroups(namespace),
    extra: {
      ...(tokenId === '' ? {} : { [`${extraPrefix}/credential-id`]: [`JTI=${tokenId}`] }),
      ...nodeExtra(bound.node),
      ...podExtra(bound.pod),
    },
  }
}

function podExtra(pod: ClaimedObject | undefined): UserInfo['extra'] {
  if (pod === undefined || pod.name === '' || pod.uid === '') return {}
  return { [`${extraPrefix}/pod-name`]: [pod.name], [`${extraPrefix}/pod-uid`]: [pod.uid] }
}

function nodeExtra(node: ClaimedObject | undefined): UserInfo['extra'] {
  if (node === undefined || node.name === '') return {}
  return {
    [NODE_NAME_EXTRA]: [node.name],
    ...(node.uid === '' ? {} : { [`${extraPrefix}/node-uid`]: [node.uid] }),
  }
}
