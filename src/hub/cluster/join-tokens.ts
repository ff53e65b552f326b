/** The join tokens of the cluster, as the hub's door sees them and as people administer them. */
import { type JoinClaims, JoinTokenError, type JoinTokenProblem, verifyJoinJwt } from '../../identity/join-token.ts'
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { KeyFingerprint } from '../claims/claim.ts'
import { Refusal } from '../refusal.ts'
import { onBehalfOfEdge } from '../shared/cluster-error.ts'
import type { JoinTokens } from './cluster.ts'
import type { TokenKeys } from './token-keys.ts'
import type { TokenRecord, TokenRecords } from './token-records.ts'

export interface SharedJoinTokensOptions {
  readonly clock: Clock
  readonly keys: TokenKeys
  readonly records: TokenRecords
  /** The cluster's id: the audience a token must have been made for. */
  readonly audience: () => string
}

const codeOf: Readonly<Record<JoinTokenProblem, HubRefusalCode>> = {
  malformed: 'token-invalid',
  foreign: 'token-invalid',
  'not-yet-valid': 'token-invalid',
  expired: 'token-expired',
}
/** What our own ids look like; anything else never becomes part of an object's name. */
const idPattern = /^[0-9a-f]{1,64}$/

export class SharedJoinTokens implements JoinTokens {
  readonly #options: SharedJoinTokensOptions

  constructor(options: SharedJoinTokensOptions) {
    this.#options = options
  }

  async verify(jwt: string): Promise<JoinClaims> {
    const claims = await onBehalfOfEdge(() => this.#believe(jwt))
    checkUsable(await onBehalfOfEdge(() => this.#options.records.get(claims.id)), claims.id)
    return claims
  }

  async use(claims: JoinClaims, node: string, key: KeyFingerprint): Promise<void> {
    const { uses = Number.POSITIVE_INFINITY } = claims
    const changed = await onBehalfOfEdge(() =>
      this.#options.records.change(claims.id, (record) => used(record, uses, node, key)),
    )
    checkUsable(changed, claims.id)
  }

  /** Tries again with the keys read afresh: another hub may have brought in a new one since. */
  async #believe(jwt: string): Promise<JoinClaims> {
    try {
      return await this.#check(jwt)
    } catch (error) {
      const isForeign = error instanceof JoinTokenError && error.problem === 'foreign'
      if (!isForeign || !(await this.#options.keys.reread())) throw refused(error)
    }
    try {
      return await this.#check(jwt)
    } catch (error) {
      throw refused(error)
    }
  }

  async #check(jwt: string): Promise<JoinClaims> {
    const { clock, keys, audience } = this.#options
    const checks = { audience: audience(), nowMs: clock.nowMs(), keyOf: (id: string) => keys.keyOf(id) }
    const claims = await verifyJoinJwt(jwt, checks)
    if (!idPattern.test(claims.id)) throw new JoinTokenError('malformed', 'the id of the token is none of ours')
    return claims
  }
}

/** Says nothing of who else used the token: that is nobody's business but the operator's. */
function used(record: TokenRecord, uses: number, node: string, key: KeyFingerprint): TokenRecord {
  checkUsable(record, record.id)
  // Only what is limited is counted: the record of a token for a whole fleet does not grow.
  if (uses === Number.POSITIVE_INFINITY) return record
  if (record.used.some((use) => use.node === node && use.key === key)) return record
  if (record.used.length >= uses)
    throw new Refusal(
      'token-used-up',
      `the token was good for ${uses} ${uses === 1 ? 'join' : 'joins'}, all of which are used; ` +
        'get a new one with causeway token create',
    )
  return { ...record, used: [...record.used, { node, key }] }
}

function checkUsable(record: TokenRecord | undefined, id: string): void {
  if (record !== undefined && record.revokedMs === undefined) return
  throw new Refusal('token-revoked', `token ${id} was revoked; get a new one with causeway token create`)
}

function refused(error: unknown): unknown {
  if (!(error instanceof JoinTokenError)) return error
  const advice = error.problem === 'not-yet-valid' ? '' : '; get a new one with causeway token create'
  return new Refusal(codeOf[error.problem], error.message + advice, { cause: error })
}
