/** Makes the objects that writes are about: small ones here and now, large ones on the thread for heavy work. */
import { printJson } from '../../../kube/codec/json.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { nextTurn } from '../../../telemetry/turns.ts'
import { type HeavyTask, madeOf, nameOf } from '../../heavy/heavy-task.ts'
import type { HeavyWork } from '../../heavy/heavy-work.ts'
import type { KindStrategy, WriteContext } from '../../kinds/strategy.ts'
import type { RequestBody } from '../decode-body.ts'
import { type Item, MAX_INLINE_OBJECT_BYTES } from '../item.ts'
import type { Resource } from '../resource.ts'
import type { PatchBody } from './patch.ts'
import { finishCreateStep, finishUpdateStep, type Made, patchStep, readStep } from './steps.ts'
import type { WriteRequest } from './write-request.ts'

/** A character of YAML takes as long as this many of JSON. */
export const YAML_WEIGHT = 16

export interface MakerParts {
  readonly heavy: Pick<HeavyWork, 'run'>
  strategyOf(resource: Resource): KindStrategy
}

/** Who waits for it, and how long. */
export type Asker = Pick<WriteRequest, 'user' | 'signal'>

export class Maker {
  readonly #parts: MakerParts
  /** What was made elsewhere and is on its way: the next step is no smaller. */
  readonly #large = new WeakSet<KubeObject>()

  constructor(parts: MakerParts) {
    this.#parts = parts
  }

  async read(resource: Resource, body: RequestBody, asker: Asker): Promise<Made> {
    const weight = body.bytes.length * (body.encoding === 'yaml' ? YAML_WEIGHT : 1)
    if (weight <= MAX_INLINE_OBJECT_BYTES) return readStep(this.#context(resource), body)
    return await this.#elsewhere({ step: 'read', resource: nameOf(resource), body }, asker)
  }

  async patch(resource: Resource, patch: PatchBody, old: Item, asker: Asker): Promise<Made> {
    if (patch.bytes.length + old.json.length <= MAX_INLINE_OBJECT_BYTES && !mayGrow(patch))
      return patchStep(this.#context(resource), patch, old.object())
    return await this.#elsewhere({ step: 'patch', resource: nameOf(resource), patch, old: old.json }, asker)
  }

  /** `old` is absent for a create. Takes the object over. */
  async finish(object: KubeObject, old: Item | undefined, request: WriteRequest, context: WriteContext): Promise<Made> {
    const { resource } = request
    const isSmall = Math.max(request.bodyBytes, old?.json.length ?? 0) <= MAX_INLINE_OBJECT_BYTES
    if (isSmall && !this.#large.has(object)) {
      const step = this.#context(resource)
      if (old === undefined) return finishCreateStep(step, object, context)
      return finishUpdateStep(step, object, old.object(), context)
    }
    const known = old === undefined ? {} : { old: old.json }
    const task = { step: 'finish', resource: nameOf(resource), object: printJson(object), context, ...known } as const
    return await this.#elsewhere(task, request)
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

/** A few copies of copies make a large object of a small patch. Whatever might be the word is taken for it. */
function mayGrow({ type, bytes }: PatchBody): boolean {
  return (
    type === 'json' && /copy|\\/.test(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'))
  )
}
