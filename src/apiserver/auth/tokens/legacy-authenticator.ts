/**
 * The older kind of ServiceAccount token, which never expires: a controller puts it into a Secret of type
 * `kubernetes.io/service-account-token`, and it is good for as long as it stands there.
 */
import { timingSafeEqual } from 'node:crypto'
import { type JsonObject, readText } from '../../../identity/service-account/claims.ts'
import { RefusedTokenError } from '../../../identity/service-account/refused-token.ts'
import { serviceAccountUser, serviceAccountUserName } from '../../../identity/service-account/user.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import type { FindObject } from './find-object.ts'
import { JwtAuthenticator, type JwtAuthenticatorOptions } from './jwt-authenticator.ts'
import type { TokenAuthenticator } from './token-authenticator.ts'

export const LEGACY_ISSUER = 'kubernetes/serviceaccount'
/** A controller puts it on Secrets whose token nobody has used for a year. */
export const INVALID_SINCE_LABEL = 'kubernetes.io/legacy-token-invalid-since'

export interface LegacyTokenOptions extends Omit<JwtAuthenticatorOptions, 'userOf' | 'issuer'> {
  readonly find: FindObject
}

interface LegacyClaims {
  readonly namespace: string
  readonly secretName: string
  readonly accountName: string
  readonly accountUid: string
}

export function legacyServiceAccountTokens({ keys, apiAudiences, find }: LegacyTokenOptions): TokenAuthenticator {
  return new JwtAuthenticator({
    keys,
    issuer: LEGACY_ISSUER,
    apiAudiences,
    async userOf(payload, text) {
      const claims = readLegacyClaims(payload)
      await checkSecret(claims, text, find)
      await checkAccount(claims, find)
      const serviceAccount = { name: claims.accountName, uid: claims.accountUid }
      return serviceAccountUser({ namespace: claims.namespace, serviceAccount, bound: {}, tokenId: '' })
    },
  })
}

function readLegacyClaims(payload: JsonObject): LegacyClaims {
  const read = (claim: string, title: string): string => {
    const value = readText(payload, claim)
    if (value === '') throw new RefusedTokenError(`${title} claim is missing`)
    return value
  }
  const prefix = 'kubernetes.io/serviceaccount'
  const subject = read('sub', 'sub')
  const claims = {
    namespace: read(`${prefix}/namespace`, 'namespace'),
    secretName: read(`${prefix}/secret.name`, 'secretName'),
    accountName: read(`${prefix}/service-account.name`, 'serviceAccountName'),
    accountUid: read(`${prefix}/service-account.uid`, 'serviceAccountUID'),
  }
  if (subject === serviceAccountUserName(claims.namespace, claims.accountName)) return claims
  throw new RefusedTokenError('sub claim is invalid')
}

async function checkSecret(claims: LegacyClaims, text: string, find: FindObject): Promise<void> {
  const { namespace, secretName, accountName } = claims
  const secret = await find('secrets', namespace, secretName)
  if (secret === undefined || secret.metadata?.deletionTimestamp !== undefined) {
    throw new RefusedTokenError('Token has been invalidated')
  }
  const { token = '' } = (secret['data'] ?? {}) as { readonly token?: string }
  if (!isSameText(Buffer.from(token, 'base64'), Buffer.from(text))) {
    throw new RefusedTokenError("Token does not match server's copy")
  }
  if ((secret.metadata?.labels?.[INVALID_SINCE_LABEL] ?? '') === '') return
  const subject = `the token in secret ${namespace}/${secretName} for service account ${namespace}/${accountName}`
  const remedies = [
    'Use tokens from the TokenRequest API or manually created secret-based tokens',
    `or remove the '${INVALID_SINCE_LABEL}' label from the secret to temporarily allow use of this token`,
  ]
  throw new RefusedTokenError(`${subject} has been marked invalid. ${remedies.join(', ')}`)
}

async function checkAccount({ namespace, accountName, accountUid }: LegacyClaims, find: FindObject): Promise<void> {
  const account = await find('serviceaccounts', namespace, accountName)
  if (account === undefined) throw new RefusedTokenError(`serviceaccounts ${goQuote(accountName)} not found`)
  const { uid = '', deletionTimestamp } = account.metadata ?? {}
  if (deletionTimestamp !== undefined) {
    throw new RefusedTokenError(`ServiceAccount ${namespace}/${accountName} has been deleted`)
  }
  if (uid !== accountUid)
    throw new RefusedTokenError(`ServiceAccount UID (${uid}) does not match claim (${accountUid})`)
}

function isSameText(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
