/** Makes join tokens: by a hub for the cluster's shared one, by `causeway token create` for people. */
import { readCertificates } from '../../identity/certificate.ts'
import { caBundleSha256, caSha256, mintJoinToken } from '../../identity/join-token.ts'
import { MAX_NODE_NAME_LENGTH, nodeNameProblem } from '../../identity/node-name.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import { ClusterError } from '../shared/cluster-error.ts'
import type { ClusterInfo } from './cluster-info.ts'
import { TOKEN_KEY_LIFE_MS, type TokenKeys } from './token-keys.ts'
import { MAX_TOKEN_USES, type TokenRecords } from './token-records.ts'

/** Long enough for a day's work, short enough that a token found in a shell history is worth nothing. */
const DEFAULT_TOKEN_LIFE_MS = 24 * 60 * 60 * 1000
/** Shorter ones would be over before anybody has used them. */
const MIN_TOKEN_LIFE_MS = 1_000
/** No token outlives the key that signed it. */
export const MAX_TOKEN_LIFE_MS = TOKEN_KEY_LIFE_MS
/** Enough that two tokens never get the same one, short enough to type after `causeway token revoke`. */
const TOKEN_ID_BYTES = 8

export interface TokenWish {
  /** A node name, or a pattern in which `*` stands for any characters. */
  readonly node?: string | undefined
  readonly lifeMs?: number
  readonly uses?: number | undefined
}

export interface MintedToken {
  readonly text: string
  readonly id: string
  readonly expiresMs: number
}

export interface Mint {
  readonly clock: Clock
  readonly random: Random
  readonly keys: TokenKeys
  readonly records: TokenRecords
  /** What the token shall say of the cluster. */
  readonly info: () => Promise<ClusterInfo>
}

/** The record is written first: a token that is out in the world is always on record. */
export async function mintToken(wish: TokenWish, { clock, random, keys, records, info }: Mint): Promise<MintedToken> {
  const problem = tokenWishProblem(wish)
  if (problem !== undefined) throw new ClusterError(problem.message)
  const { node, uses, lifeMs = DEFAULT_TOKEN_LIFE_MS } = wish
  const { id: audience, kubernetes, hubCa } = await info()
  const key = await keys.signingKey()
  const id = random.bytes(TOKEN_ID_BYTES).toString('hex')
  const createdMs = clock.nowMs()
  const expiresMs = createdMs + lifeMs
  const text = await mintJoinToken(
    {
      audience,
      id,
      issuedAtMs: createdMs,
      expiresAtMs: expiresMs,
      node,
      uses,
      kubernetesCaSha256: caBundleSha256(readCertificates(kubernetes.caPem, 'the Kubernetes CA')),
      apiServerName: kubernetes.apiServerName,
    },
    key,
    caSha256(hubCa),
  )
  await records.add({ id, createdMs, expiresMs, node, uses, used: [] })
  return { text, id, expiresMs }
}

export interface TokenWishProblem {
  readonly member: keyof TokenWish
  readonly message: string
}

/** The first thing about the wish that cannot be. */
export function tokenWishProblem({ node, uses, lifeMs }: TokenWish): TokenWishProblem | undefined {
  const problem = node === undefined ? undefined : patternProblem(node)
  if (problem !== undefined) return { member: 'node', message: problem }
  if (uses !== undefined && !(Number.isInteger(uses) && uses >= 1 && uses <= MAX_TOKEN_USES))
    return { member: 'uses', message: `a token can be limited to 1 to ${MAX_TOKEN_USES} uses, not to ${uses}` }
  if (lifeMs !== undefined && !(lifeMs >= MIN_TOKEN_LIFE_MS && lifeMs <= MAX_TOKEN_LIFE_MS))
    return { member: 'lifeMs', message: `a token can live for 1 second to ${MAX_TOKEN_LIFE_MS / 86_400_000} days` }
  return undefined
}

/** Whether a token for it may take a name that is in use: one with a `*` never may, whatever it happens to match. */
export function isExactName(node: string): boolean {
  return !node.includes('*')
}

/** A pattern is right if some node name can match it: each `*` may stand for a letter, a dot, or nothing. */
function patternProblem(pattern: string): string | undefined {
  if (isExactName(pattern)) return nodeNameProblem(pattern)
  const isPossible = /^[a-z0-9*]([-.a-z0-9*]*[a-z0-9*])?$/.test(pattern) && !/\.\.|\.-|-\./.test(pattern)
  if (isPossible && pattern.length <= MAX_NODE_NAME_LENGTH) return undefined
  return `no node name can match ${JSON.stringify(pattern)}: use lower case letters, digits, "-", "." and "*"`
}
