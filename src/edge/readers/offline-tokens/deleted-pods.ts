/** Pods whose deletion this edge has seen, by uid: their tokens are worth nothing any more, however good their signatures are. */
import * as v from 'valibot'
import type { Part, RunningPart } from '../../../process/lifecycle.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Kept } from '../kept.ts'
import { KeptState } from '../kept-state.ts'

/** More than a node deletes while a token of one of them is good; beyond, the one deleted longest ago is forgotten. */
export const MAX_DELETED_PODS = 8_192
/** Uids are of 36 characters; what is much longer is none. */
const MAX_POD_UID_CHARS = 64
/** Those that come together are written together, but soon: a token must not come back by a power cut. */
const DELETED_PODS_KEEP_MS = 500

const keptSchema = v.pipe(v.array(v.pipe(v.string(), v.maxLength(MAX_POD_UID_CHARS))), v.maxLength(MAX_DELETED_PODS))

export interface DeletedPodsOptions {
  readonly kept: Kept
  readonly clock: Clock
  readonly logger: Logger
}

export class DeletedPods implements Part {
  readonly name = 'deleted-pods'
  readonly #kept: KeptState
  readonly #uids = new Set<string>()

  constructor({ kept, clock, logger }: DeletedPodsOptions) {
    this.#kept = new KeptState({
      name: 'deleted pods',
      kept,
      restore: (text) => {
        for (const uid of v.parse(keptSchema, JSON.parse(text))) this.#uids.add(uid)
      },
      render: () => JSON.stringify([...this.#uids]),
      patienceMs: DELETED_PODS_KEEP_MS,
      clock,
      logger,
    })
  }

  start(): Promise<RunningPart> {
    return this.#kept.start()
  }

  has(uid: string): boolean {
    return this.#uids.has(uid)
  }

  add(uid: string): void {
    if (uid === '' || uid.length > MAX_POD_UID_CHARS || this.#uids.has(uid)) return
    this.#uids.add(uid)
    const [oldest] = this.#uids
    if (oldest !== undefined && this.#uids.size > MAX_DELETED_PODS) this.#uids.delete(oldest)
    this.#kept.changed()
  }
}
