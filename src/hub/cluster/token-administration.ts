/** What `causeway token` does. Needs a kubeconfig and no running hub, and never reads the CA's key. */
import type { KubeClient } from '../../kube/client/client.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Random, systemRandom } from '../../runtime/random.ts'
import { explained } from '../shared/cluster-error.ts'
import { readClusterInfo } from './cluster-info.ts'
import { type MintedToken, mintToken, type TokenWish } from './mint-token.ts'
import { TokenKeys } from './token-keys.ts'
import { type DamagedRecord, type TokenRecord, TokenRecords } from './token-records.ts'

export interface TokenAdministrationOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly random?: Random
}

export type Revocation = 'revoked' | 'revoked-before' | 'unknown'

export class TokenAdministration {
  readonly #options: Required<TokenAdministrationOptions>
  readonly #records: TokenRecords

  constructor(options: TokenAdministrationOptions) {
    this.#options = { random: systemRandom, ...options }
    this.#records = new TokenRecords(this.#options)
  }

  async create(wish: TokenWish): Promise<MintedToken> {
    const { clock, random } = this.#options
    const keys = new TokenKeys(this.#options)
    const info = () => readClusterInfo(this.#options)
    return await explained('create a join token', () =>
      mintToken(wish, { clock, random, keys, records: this.#records, info }),
    )
  }

  async list(): Promise<{ records: readonly TokenRecord[]; damaged: readonly DamagedRecord[] }> {
    return await explained('list the join tokens', () => this.#records.list())
  }

  /**
   * Revokes the tokens that name exactly this node, and returns their ids. Also those that are used up: the key that used one
   * may ask with it again.
   */
  async revokeFor(node: string): Promise<readonly string[]> {
    const nowMs = this.#options.clock.nowMs()
    const { records } = await this.list()
    const alive = records.filter(({ expiresMs, revokedMs }) => expiresMs > nowMs && revokedMs === undefined)
    const revoked: string[] = []
    for (const { id } of alive.filter((record) => record.node === node))
      if ((await this.revoke(id)) === 'revoked') revoked.push(id)
    return revoked
  }

  /** From the moment this returns no hub accepts the token: they look at the record for each join. */
  async revoke(id: string): Promise<Revocation> {
    let result: Revocation = 'unknown'
    const nowMs = this.#options.clock.nowMs()
    const change = (record: TokenRecord): TokenRecord => {
      result = record.revokedMs === undefined ? 'revoked' : 'revoked-before'
      return record.revokedMs === undefined ? { ...record, revokedMs: nowMs } : record
    }
    const changed = await explained(`revoke token ${id}`, () => this.#records.change(id, change))
    return changed === undefined ? 'unknown' : result
  }
}
