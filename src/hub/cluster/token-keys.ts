/**
 * The keys that sign join tokens: random, in a Secret of their own, so that who may mint tokens need not read the CA's key.
 * Two count: the current one signs, the one before it is still believed. A token lives at most as long as a key is current,
 * so no token outlives the key that signed it.
 */
import { JOIN_TOKEN_KEY_BYTES, type JoinTokenKey } from '../../identity/join-token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { secrets } from '../../kube/client/kinds.ts'
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { Secret } from '../../kube/client/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import { Fields, secretData, timeText } from '../shared/fields.ts'
import { labelsOf, TOKEN_KEYS_SECRET } from '../shared/names.ts'
import { changeShared, createIfAbsent } from '../shared/shared-object.ts'

/** How long a key signs. */
export const TOKEN_KEY_LIFE_MS = 30 * 24 * 60 * 60 * 1000
/** Strangers must not make the hub read the Secret for each made-up key id they send. */
export const MIN_KEY_REREAD_MS = 1_000
const keyIdBytes = 8
const currentField = 'current'
const keyPrefix = 'key.'
const madePrefix = 'made.'

export interface TokenKeysOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly random: Random
}

interface KeySet {
  readonly currentId: string
  readonly keys: ReadonlyMap<string, { readonly secret: Buffer; readonly madeMs: number }>
}

export class TokenKeys {
  readonly #options: TokenKeysOptions
  readonly #secrets: ResourceClient<Secret>
  #known: KeySet | undefined
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(options: TokenKeysOptions) {
    this.#options = options
    this.#secrets = options.client.resource(secrets).in(options.namespace)
  }

  /** Reads the keys; makes the first one if there is none. */
  async load(): Promise<void> {
    const readAtMs = this.#options.clock.monotonicMs()
    const secret = await createIfAbsent(this.#secrets, TOKEN_KEYS_SECRET, async () => this.#secretOf(this.#newSet()))
    this.#keep(secret, readAtMs)
  }

  /** Retires a current key that has signed for long enough. Reads the keys in any case. */
  async rotateIfDue(): Promise<void> {
    const readAtMs = this.#options.clock.monotonicMs()
    const secret = await changeShared(
      this.#secrets,
      TOKEN_KEYS_SECRET,
      (present) => {
        if (present === undefined) return this.#secretOf(this.#newSet())
        const set = keySetOf(present)
        return this.#isDue(set) ? this.#secretOf(this.#newSet(set)) : undefined
      },
      this.#options,
    )
    if (secret !== undefined) this.#keep(secret, readAtMs)
  }

  /** The key to sign with, read afresh: another hub may have retired the one known here. */
  async signingKey(): Promise<JoinTokenKey> {
    await this.load()
    const { currentId = '', keys } = this.#known ?? {}
    return { id: currentId, secret: keys?.get(currentId)?.secret ?? Buffer.alloc(0) }
  }

  /** As far as known here. */
  keyOf(id: string): Uint8Array | undefined {
    return this.#known?.keys.get(id)?.secret
  }

  /** Reads the keys again unless that was done just now. False if it was. */
  async reread(): Promise<boolean> {
    if (this.#options.clock.monotonicMs() - this.#readAtMs < MIN_KEY_REREAD_MS) return false
    await this.load()
    return true
  }

  #keep(secret: Secret, readAtMs: number): void {
    this.#known = keySetOf(secret)
    this.#readAtMs = readAtMs
  }

  #isDue({ currentId, keys }: KeySet): boolean {
    const madeMs = keys.get(currentId)?.madeMs ?? 0
    return this.#options.clock.nowMs() - madeMs >= TOKEN_KEY_LIFE_MS
  }

  /** A new current key beside the one that was current so far; older ones are gone. */
  #newSet(before?: KeySet): KeySet {
    const { random, clock } = this.#options
    const id = random.bytes(keyIdBytes).toString('hex')
    const fresh = { secret: random.bytes(JOIN_TOKEN_KEY_BYTES), madeMs: clock.nowMs() }
    const previous = before?.keys.get(before.currentId)
    const kept = before === undefined || previous === undefined ? [] : [[before.currentId, previous] as const]
    return { currentId: id, keys: new Map([[id, fresh], ...kept]) }
  }

  #secretOf({ currentId, keys }: KeySet): Secret {
    const values: Record<string, string> = { [currentField]: currentId }
    for (const [id, { secret, madeMs }] of keys) {
      values[keyPrefix + id] = secret.toString('latin1')
      values[madePrefix + id] = timeText(madeMs)
    }
    const { namespace } = this.#options
    const metadata = { name: TOKEN_KEYS_SECRET, namespace, labels: labelsOf() }
    return { metadata, type: 'Opaque', data: secretData(values) }
  }
}

function keySetOf(secret: Secret): KeySet {
  const fields = Fields.ofSecret(secret)
  const ids = fields.names.filter((name) => name.startsWith(keyPrefix)).map((name) => name.slice(keyPrefix.length))
  const keys = new Map(
    ids.map((id) => {
      const bytes = Buffer.from(fields.required(keyPrefix + id), 'latin1')
      if (bytes.length !== JOIN_TOKEN_KEY_BYTES)
        throw fields.damaged(`key ${id} has ${bytes.length} bytes, not ${JOIN_TOKEN_KEY_BYTES}`)
      return [id, { secret: bytes, madeMs: fields.timeMs(madePrefix + id) }] as const
    }),
  )
  const currentId = fields.required(currentField)
  if (!keys.has(currentId)) throw fields.damaged(`its current key ${JSON.stringify(currentId)} is not in it`)
  return { currentId, keys }
}
