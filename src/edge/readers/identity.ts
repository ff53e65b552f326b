/**
 * Who a caller is, as the API server sees it: all that its authorizers may look at. Verdicts are kept under the whole of it,
 * so that an account that was deleted and made again, or a user who has left a group, finds none of the old ones.
 */
import { hash } from 'node:crypto'

export interface UserInfo {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export interface Identity {
  readonly user: UserInfo
  /** Equal for equal users, and for nobody else. */
  readonly key: string
}

/**
 * Each token has another of these, so that a pod would lose all its verdicts with every new token. No right is tied to the
 * number of a single token.
 */
const credentialId = 'authentication.kubernetes.io/credential-id'

/** All are in it who are anybody; not everyone who says who they are says so. */
const everybody = 'system:authenticated'

export function identityOf(user: UserInfo): Identity {
  const extra = Object.entries(user.extra)
    .filter(([name]) => name !== credentialId)
    .map(([name, values]) => [name, values] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const groups = [...new Set(user.groups)].filter((group) => group !== everybody).toSorted()
  return { user, key: hash('sha256', JSON.stringify([user.username, user.uid, groups, extra]), 'base64url') }
}

/** How the API server names accounts, and nobody else. */
const accountPrefix = 'system:serviceaccount:'

/**
 * From what a review of the token says; undefined where that names nobody. What stands behind a token that is no account's may be
 * another thing for each token, so each has verdicts of its own.
 */
export function identityFrom(value: unknown, tokenHash: string): Identity | undefined {
  if (!isRecord(value)) return undefined
  const { username, uid, groups, extra } = value
  if (typeof username !== 'string' || username === '') return undefined
  const known = {
    username,
    uid: typeof uid === 'string' ? uid : '',
    groups: texts(groups),
    extra: Object.fromEntries(Object.entries(isRecord(extra) ? extra : {}).map(([name, each]) => [name, texts(each)])),
  }
  const identity = identityOf(known)
  if (username.startsWith(accountPrefix)) return identity
  return { ...identity, key: hash('sha256', JSON.stringify([identity.key, tokenHash]), 'base64url') }
}

/** The node itself, by its client certificate. */
export function nodeIdentity(node: string): Identity {
  const groups = ['system:nodes', 'system:authenticated']
  return identityOf({ username: `system:node:${node}`, uid: '', groups, extra: {} })
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
