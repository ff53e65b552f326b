/** Makes the objects that writes are about: small ones here and now, large ones on the thread for heavy work. */
import { printJson } from '../../../kube/codec/json.ts'
import { decodeProtobuf } from '../../../kube/codec/object-codec.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { nextTurn } from '../../../runtime/turns.ts'
import { type HeavyTask, madeOf, nameOf } from '../../heavy/heavy-task.ts'
import type { HeavyWork } from '../../heavy/heavy-work.ts'
import type { KindStrategy, WriteContext } from '../../kinds/strategy.ts'
import { countValues, type RequestBody } from '../../objects/decode-body.ts'
import { type Item, MAX_INLINE_OBJECT_BYTES } from '../../objects/item.ts'
import { countJsonValues } from '../../objects/json-values.ts'
import type { PatchBody } from '../../objects/patch.ts'
import type { Resource } from '../../objects/resource.ts'
import { finishCreateStep, finishUpdateStep, type Made, patchStep, readStep } from '../../objects/write-steps.ts'
import type { WriteRequest } from './write-request.ts'

/** A character of YAML takes as long as this many of JSON. */
const YAML_WEIGHT = 16
/** Each value is given defaults, checked, and may be wrong in several ways: it costs far more than its bytes. */
const MAX_INLINE_OBJECT_VALUES = 1_000

export interface MakerParts {
  readonly heavy: Pick<HeavyWork, 'run'>
  strategyOf(resource: Resource): KindStrategy
}

/** Who waits for the object, and until when. */
export type Asker = Pick<WriteRequest, 'user' | 'signal'>

export class Maker {
  readonly #parts: MakerParts
  /** Objects that another thread made for a step: the next step of the same write is no smaller. */
  readonly #large = new WeakSet<KubeObject>()

  constructor(parts: MakerParts) {
    this.#parts = parts
  }

  async read(resource: Resource, body: RequestBody, asker: Asker): Promise<Made> {
    if (isSmallBody(body)) return readStep(this.#context(resource), body)
    return await this.#elsewhere({ step: 'read', resource: nameOf(resource), body }, asker)
  }

  async patch(resource: Resource, patch: PatchBody, old: Item, asker: Asker): Promise<Made> {
    const isSmall = patch.bytes.length <= MAX_INLINE_OBJECT_BYTES && hasFewValues(patch.bytes) && isSmallItem(old)
    if (isSmall && !mayGrow(patch)) return patchStep(this.#context(resource), patch, old.object())
    return await this.#elsewhere({ step: 'patch', resource: nameOf(resource), patch, old: old.json }, asker)
  }

  /** The object as it will be stored, checked; `old` is absent for a create. Takes the object over. */
  async finish(object: KubeObject, old: Item | undefined, request: WriteRequest, context: WriteContext): Promise<Made> {
    const { resource } = request
    const isSmall = request.bodyBytes <= MAX_INLINE_OBJECT_BYTES && (old === undefined || isSmallItem(old))
    if (
      isSmall &&
      !this.#large.has(object) &&
      countValues(object, MAX_INLINE_OBJECT_VALUES) <= MAX_INLINE_OBJECT_VALUES
    ) {
      const step = this.#context(resource)
      if (old === undefined) return finishCreateStep(step, object, context)
      return finishUpdateStep(step, object, old.object(), context)
    }
    const name = nameOf(resource)
    return await this.#elsewhere(
      { step: 'finish', resource: name, object: printJson(object), old: old?.json, context },
      request,
    )
  }

  #context(resource: Resource): { resource: Resource; strategy: KindStrategy } {
    return { resource, strategy: this.#parts.strategyOf(resource) }
  }

  async #elsewhere(task: HeavyTask, { user, signal }: Asker): Promise<Made> {
    const made = madeOf(await this.#parts.heavy.run(task, user.name, signal))
    this.#large.add(made.object)
    // Reading what came back took a while.
    await nextTurn()
    return made
  }
}

function isSmallBody({ bytes, encoding }: RequestBody): boolean {
  if (bytes.length * (encoding === 'yaml' ? YAML_WEIGHT : 1) > MAX_INLINE_OBJECT_BYTES) return false
  if (encoding !== 'protobuf') return hasFewValues(bytes)
  // No value takes less than two bytes there.
  return bytes.length <= 2 * MAX_INLINE_OBJECT_VALUES || decodesToFewValues(bytes)
}

function hasFewValues(json: Uint8Array): boolean {
  return countJsonValues(json, MAX_INLINE_OBJECT_VALUES) <= MAX_INLINE_OBJECT_VALUES
}

/** Whether the body holds few values; one that cannot be decoded is refused, and costs nothing more. */
function decodesToFewValues(bytes: Uint8Array): boolean {
  try {
    return countValues(decodeProtobuf(bytes).object, MAX_INLINE_OBJECT_VALUES) <= MAX_INLINE_OBJECT_VALUES
  } catch {
    return true
  }
}

function isSmallItem({ json }: Item): boolean {
  return json.length <= MAX_INLINE_OBJECT_BYTES && hasFewValues(json)
}

/** A few copies of copies make a large object of a small patch. Whatever might be the word is taken for it. */
function mayGrow({ type, bytes }: PatchBody): boolean {
  return (
    type === 'json' && /copy|\\/.test(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'))
  )
}
