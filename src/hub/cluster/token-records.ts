/**
 * One ConfigMap for each join token: what it may do, who has used it, whether it was revoked. It never holds the token. A
 * token without a record counts for nothing.
 */

import type { KubeClient } from '../../kube/client/client.ts'
import { configMaps } from '../../kube/client/kinds.ts'
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { ConfigMap } from '../../kube/client/types.ts'
import { presentFields } from '../../kube/present-fields.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import { Fields, timeText } from '../shared/fields.ts'
import { labelsOf, TOKEN_LABEL, tokenRecordName } from '../shared/names.ts'
import { changeShared, getIfPresent, removeUnchanged } from '../shared/shared-object.ts'

/** All uses of a token stand in one ConfigMap, which holds a megabyte; a use takes at most 350 bytes of it. */
export const MAX_TOKEN_USES = 1_000
/** The record of an expired token stays for so long, for people who wonder what became of it. */
export const EXPIRED_RECORD_KEPT_MS = 24 * 60 * 60 * 1000

export interface TokenUse {
  readonly node: string
  /** The fingerprint of the node's key. */
  readonly key: string
}

export interface TokenRecord {
  readonly id: string
  readonly createdMs: number
  readonly expiresMs: number
  readonly node?: string | undefined
  readonly uses?: number | undefined
  readonly used: readonly TokenUse[]
  readonly revokedMs?: number | undefined
}

export interface TokenRecordsOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly random: Random
}

/** What lists show of a record that cannot be read. */
export interface DamagedRecord {
  readonly name: string
  readonly problem: string
}

export class TokenRecords {
  readonly #options: TokenRecordsOptions
  readonly #maps: ResourceClient<ConfigMap>
  readonly #waiting = new Map<string, Promise<unknown>>()

  constructor(options: TokenRecordsOptions) {
    this.#options = options
    this.#maps = options.client.resource(configMaps).in(options.namespace)
  }

  async get(id: string): Promise<TokenRecord | undefined> {
    const object = await getIfPresent(this.#maps, tokenRecordName(id))
    return object === undefined ? undefined : recordOf(object)
  }

  async add(record: TokenRecord): Promise<void> {
    await this.#maps.create(this.#objectOf(record))
  }

  /**
   * `change` gets the record as it is and returns it as it shall be, or the same to leave it. `undefined`: no record. Changes
   * of one record queue up here: a thousand edges with one token would only take each other's turns.
   */
  async change(id: string, change: (record: TokenRecord) => TokenRecord): Promise<TokenRecord | undefined> {
    const before = this.#waiting.get(id) ?? Promise.resolve()
    const mine = before.then(() => this.#change(id, change))
    const settled = mine.catch(() => undefined)
    this.#waiting.set(id, settled)
    try {
      return await mine
    } finally {
      if (this.#waiting.get(id) === settled) this.#waiting.delete(id)
    }
  }

  async #change(id: string, change: (record: TokenRecord) => TokenRecord): Promise<TokenRecord | undefined> {
    const object = await changeShared(
      this.#maps,
      tokenRecordName(id),
      (present) => {
        if (present === undefined) return undefined
        const before = recordOf(present)
        const after = change(before)
        return after === before ? undefined : this.#objectOf(after)
      },
      this.#options,
    )
    return object === undefined ? undefined : recordOf(object)
  }

  /** Removes the record of a token that nobody has been given. */
  async discard(id: string): Promise<void> {
    const object = await getIfPresent(this.#maps, tokenRecordName(id))
    if (object !== undefined) await removeUnchanged(this.#maps, object)
  }

  /** Oldest first. */
  async list(): Promise<{ records: readonly TokenRecord[]; damaged: readonly DamagedRecord[] }> {
    const records: TokenRecord[] = []
    const damaged: DamagedRecord[] = []
    for (const object of await this.#objects()) {
      try {
        records.push(recordOf(object))
      } catch (error) {
        damaged.push({ name: object.metadata?.name ?? '', problem: (error as Error).message })
      }
    }
    return { records: records.toSorted((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1)), damaged }
  }

  /** Removes the records of tokens that expired long ago and returns how many; damaged ones stay for people to see. */
  async removeExpired(): Promise<number> {
    const { clock } = this.#options
    let removed = 0
    for (const object of await this.#objects()) {
      if (isDamaged(object) || recordOf(object).expiresMs + EXPIRED_RECORD_KEPT_MS > clock.nowMs()) continue
      if (await removeUnchanged(this.#maps, object)) removed++
    }
    return removed
  }

  async #objects(): Promise<readonly ConfigMap[]> {
    return (await this.#maps.listAll({ labelSelector: TOKEN_LABEL })).items
  }

  #objectOf({ id, createdMs, expiresMs, node, uses, used, revokedMs }: TokenRecord): ConfigMap {
    const { namespace } = this.#options
    return {
      metadata: { name: tokenRecordName(id), namespace, labels: labelsOf(TOKEN_LABEL) },
      data: presentFields({
        id,
        created: timeText(createdMs),
        expires: timeText(expiresMs),
        node,
        uses: uses === undefined ? undefined : String(uses),
        used: JSON.stringify(used),
        revoked: revokedMs === undefined ? undefined : timeText(revokedMs),
      }),
    }
  }
}

function isDamaged(object: ConfigMap): boolean {
  try {
    recordOf(object)
    return false
  } catch {
    return true
  }
}

function recordOf(object: ConfigMap): TokenRecord {
  const fields = Fields.ofConfigMap(object)
  const id = fields.required('id')
  if (object.metadata?.name !== tokenRecordName(id)) throw fields.damaged(`it is about another token, ${id}`)
  const node = fields.optional('node')
  const usesText = fields.optional('uses')
  const uses = Number(usesText)
  if (usesText !== undefined && !(Number.isSafeInteger(uses) && uses > 0))
    throw fields.damaged(`its field uses is no count: ${JSON.stringify(usesText)}`)
  const revokedMs = fields.optionalTimeMs('revoked')
  return {
    id,
    createdMs: fields.timeMs('created'),
    expiresMs: fields.timeMs('expires'),
    node,
    uses: usesText === undefined ? undefined : uses,
    used: usedOf(fields),
    revokedMs,
  }
}

function usedOf(fields: Fields): readonly TokenUse[] {
  let list: unknown
  try {
    list = JSON.parse(fields.required('used'))
  } catch {
    throw fields.damaged('its field used is no JSON')
  }
  if (!Array.isArray(list) || !list.every(isUse)) throw fields.damaged('its field used is no list of nodes and keys')
  return list
}

function isUse(value: unknown): value is TokenUse {
  const { node, key } = (value ?? {}) as Partial<TokenUse>
  return typeof node === 'string' && typeof key === 'string'
}
