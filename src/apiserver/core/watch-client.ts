/** What the client of one watch is told: events, how far it has come, and why there is no more. */
import type { KubeObject } from '../../kube/objects.ts'
import { isTooManyRequests } from '../../kube/status/predicates.ts'
import { resourceExpired } from '../../kube/status/request-errors.ts'
import { ApiError } from '../../kube/status/status.ts'
import { toHttp } from '../../kube/status/to-http.ts'
import type { Clock } from '../../runtime/clock.ts'
import { CompactedError, FutureRevisionError, StoreUnavailableError } from '../storage/store-errors.ts'
import { type EventFrames, encodedFrame, type ItemEvent } from './event-frames.ts'
import type { OutputContext } from './output.ts'
import type { WatchQueue } from './watch-queue.ts'

/** How long a watch waits when the thread for heavy work has no place for its event. */
const BUSY_RETRY_MS = 1_000

const neverAborted = new AbortController().signal

export interface WatchClientParts {
  readonly output: OutputContext
  readonly frames: EventFrames
  readonly queue: WatchQueue
  readonly clock: Clock
  /** The name of the user, for work that is done elsewhere. */
  readonly caller: string
}

export class WatchClient {
  readonly #parts: WatchClientParts
  #isFirst = true

  constructor(parts: WatchClientParts) {
    this.#parts = parts
  }

  /** Waits until the client has read enough of what came before. */
  async send(event: ItemEvent, signal: AbortSignal): Promise<void> {
    const { queue } = this.#parts
    if (queue.isFull) await queue.room(signal)
    if (signal.aborted) return
    const frame = this.#frame(event)
    queue.push(frame instanceof Promise ? await this.#patiently(frame, event, signal) : frame)
    this.#isFirst = false
  }

  #frame(event: ItemEvent): Buffer | Promise<Buffer> {
    const { clock, frames, caller, output } = this.#parts
    // Others may need the same frame: it is made to the end, whether this watcher stays or not.
    const asker = { caller, signal: neverAborted }
    return frames.frame(event, { ...output, nowMs: clock.nowMs() }, this.#isFirst, asker)
  }

  /** The frame of an event, asked for again while the threads for heavy work have no place: a watch can wait. */
  async #patiently(first: Promise<Buffer>, event: ItemEvent, signal: AbortSignal): Promise<Buffer> {
    for (let frame: Buffer | Promise<Buffer> = first; ; frame = this.#frame(event)) {
      try {
        return await frame
      } catch (error) {
        if (!isTooManyRequests(error)) throw error
        await this.#parts.clock.sleep(BUSY_RETRY_MS, signal)
      }
    }
  }

  /** Says how far the client has come, never more: it will resume from there. */
  bookmark(revision: number, metadata: object = {}): void {
    const { queue, output } = this.#parts
    const object = {
      kind: output.resource.kind,
      apiVersion: output.resource.apiVersion,
      metadata: { resourceVersion: String(revision), ...metadata },
    } as KubeObject
    queue.push(encodedFrame('BOOKMARK', object, output))
  }

  /** Says why the watch that began at this version ends; throws what is no client's business. */
  fail(error: unknown, resourceVersion: string): void {
    // A defect is for the log to tell; the client sees that it was cut off, and comes again.
    if (!isExpected(error)) throw error
    const { queue, output } = this.#parts
    const known =
      error instanceof CompactedError
        ? resourceExpired(`too old resource version: ${resourceVersion} (${error.compactedRevision})`)
        : error
    queue.push(encodedFrame('ERROR', toHttp(known).status as unknown as KubeObject, output))
  }
}

/** What a client is told of in a frame of its watch. */
function isExpected(error: unknown): boolean {
  return [ApiError, CompactedError, FutureRevisionError, StoreUnavailableError].some((kind) => error instanceof kind)
}
