/**
 * Memory of a link whose connections cannot be slowed down one by one. A reader that falls behind may hold up the link for as
 * long as it makes progress; one that has stopped is ended, so that the others go on.
 */
import type { Clock } from '../../runtime/clock.ts'
import { Headway } from '../../runtime/headway.ts'
import type { Account, Budget } from '../yamux/budget.ts'
import type { PacketConnection } from './packet-connection.ts'

/** Bytes that wait for one reader before the link is held up: a burst of some hundred milliseconds on a fast link. */
export const MAX_QUEUED_BYTES_PER_CONNECTION = 4 * 1024 * 1024
/** How long a reader with a full queue may take nothing. It is also how long others can be kept waiting by one that stopped. */
export const READER_STALL_LIMIT_MS = 500

/** A reader was too slow for a link that others need too. */
class StalledReaderError extends Error {
  override readonly name = 'StalledReaderError'
}

export interface LinkPressureOptions {
  readonly clock: Clock
  readonly budget: Budget
  readonly pause: () => void
  readonly resume: () => void
  /** False where the link has one connection only: holding it up hurts nobody else. */
  readonly isShared: boolean
  readonly maxQueuedBytes?: number | undefined
  /** A connection was ended to free the link. */
  readonly onStalled?: (() => void) | undefined
}

interface Queue {
  queuedBytes: number
  takenBytes: number
  readonly headway: Headway
  isFull: boolean
  cancelLimit: () => void
}

export class LinkPressure {
  readonly #options: LinkPressureOptions
  readonly #account: Account
  readonly #maxQueuedBytes: number
  readonly #queues = new Map<PacketConnection, Queue>()
  #fullCount = 0

  constructor(options: LinkPressureOptions) {
    this.#options = options
    this.#maxQueuedBytes = options.maxQueuedBytes ?? MAX_QUEUED_BYTES_PER_CONNECTION
    this.#account = options.budget.openAccount(() => this.#shedLargest())
  }

  /** Called after every change of what waits for a reader, its end included. */
  update(connection: PacketConnection): void {
    const waitingBytes = connection.destroyed ? 0 : connection.readableLength
    const queue = this.#queues.get(connection) ?? this.#admit(connection)
    const grownBytes = waitingBytes - queue.queuedBytes
    queue.queuedBytes = waitingBytes
    if (grownBytes < 0) {
      queue.takenBytes -= grownBytes
      queue.headway.stoodMs(queue.takenBytes, this.#options.clock.monotonicMs())
      this.#account.letGo(-grownBytes)
    }
    if (waitingBytes === 0) this.#queues.delete(connection)
    if (queue.isFull ? waitingBytes <= this.#maxQueuedBytes / 2 : waitingBytes > this.#maxQueuedBytes)
      this.#setFull(connection, queue, !queue.isFull)
    if (grownBytes > 0) this.#account.hold(grownBytes)
  }

  /** The link has gone, and its connections with it. */
  close(): void {
    this.#account.close()
  }

  #admit(connection: PacketConnection): Queue {
    const headway = new Headway(0, this.#options.clock.monotonicMs())
    const queue: Queue = { queuedBytes: 0, takenBytes: 0, headway, isFull: false, cancelLimit: () => {} }
    this.#queues.set(connection, queue)
    return queue
  }

  #setFull(connection: PacketConnection, queue: Queue, isFull: boolean): void {
    queue.isFull = isFull
    queue.cancelLimit()
    this.#fullCount += isFull ? 1 : -1
    if (!isFull) {
      if (this.#fullCount === 0) this.#options.resume()
      return
    }
    if (this.#fullCount === 1) this.#options.pause()
    if (this.#options.isShared) this.#limit(connection, queue)
  }

  #limit(connection: PacketConnection, queue: Queue): void {
    const { clock } = this.#options
    const leftMs = READER_STALL_LIMIT_MS - queue.headway.stoodMs(queue.takenBytes, clock.monotonicMs())
    if (leftMs <= 0) this.#end(connection)
    else queue.cancelLimit = clock.schedule(leftMs, () => this.#limit(connection, queue))
  }

  #shedLargest(): void {
    let largest: PacketConnection | undefined
    let largestBytes = 0
    for (const [connection, { queuedBytes }] of this.#queues) {
      if (queuedBytes <= largestBytes) continue
      largest = connection
      largestBytes = queuedBytes
    }
    if (largest !== undefined) this.#end(largest)
  }

  #end(connection: PacketConnection): void {
    const queuedBytes = connection.readableLength
    this.#options.onStalled?.()
    connection.destroy(new StalledReaderError(`${queuedBytes} bytes wait for a reader that does not take them`))
    this.update(connection)
  }
}
