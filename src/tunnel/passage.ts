/**
 * One direction of a relay: bytes of one side for the other, as fast as that takes them, and the end as an end. What a session
 * brought for a socket in one turn of the event loop goes out in one write.
 */
import type { Duplex } from 'node:stream'
import type { TunnelStream } from './tunnel-stream.ts'

/** Bytes put into one write to the socket: enough to save system calls, little enough to stay in the processor's cache. */
const RELAY_BATCH_BYTES = 256 * 1024

/** Less than this is passed on at once, because a small answer must not wait for company. */
const RELAY_GATHER_BYTES = 4 * 1024

export interface Passage {
  /** Passed on so far. */
  readonly bytes: number
  /** The end has been passed on. */
  readonly hasEnded: boolean
  start(): void
}

/** From any side to any other. Nothing passes before the next turn of the event loop. */
export class PlainPassage implements Passage {
  readonly #from: Duplex
  readonly #to: Duplex
  bytes = 0
  hasEnded = false

  constructor(from: Duplex, to: Duplex) {
    this.#from = from
    this.#to = to
  }

  start(): void {
    const [from, to] = [this.#from, this.#to]
    from.on('data', (chunk: Buffer) => {
      // What comes for a side that has ended goes nowhere.
      if (!to.writable) return
      this.bytes += chunk.length
      if (!to.write(chunk)) from.pause()
    })
    to.on('drain', () => from.resume())
    if (from.readableEnded) process.nextTick(() => this.#end())
    else from.once('end', () => this.#end())
  }

  #end(): void {
    this.hasEnded = true
    this.#to.end()
  }
}

/** From a stream of a session to a socket, without the cost of a Node stream for each chunk. */
export class BatchedPassage implements Passage {
  readonly #stream: TunnelStream
  readonly #socket: Duplex
  #isScheduled = false
  bytes = 0
  hasEnded = false

  constructor(stream: TunnelStream, socket: Duplex) {
    this.#stream = stream
    this.#socket = socket
  }

  start(): void {
    this.#socket.on('drain', () => this.#pump())
    this.#stream.takeOver(() => this.#onReadable())
  }

  /** Little goes on at once; where much has come, more comes in the same turn, and all of it goes on together. */
  #onReadable(): void {
    if (this.#isScheduled || this.#socket.writableNeedDrain) return
    if (this.#stream.unreadBytes < RELAY_GATHER_BYTES) this.#pump()
    else this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      try {
        if (!this.#socket.writableNeedDrain) this.#pump()
      } catch (error) {
        // Nobody stands above a turn of its own: both sides end with it, and it is told with their end.
        this.#stream.destroy(error as Error)
        this.#socket.destroy()
      }
    })
  }

  #pump(): void {
    const [stream, socket] = [this.#stream, this.#socket]
    if (!socket.writable) return
    let batchBytes = 0
    socket.cork()
    while (batchBytes < RELAY_BATCH_BYTES) {
      const chunk = stream.takeChunk()
      if (chunk === undefined) break
      batchBytes += chunk.length
      socket.write(chunk)
    }
    socket.uncork()
    this.bytes += batchBytes
    if (stream.takeEnd()) this.#end()
    else if (batchBytes >= RELAY_BATCH_BYTES && !socket.writableNeedDrain) this.#schedule()
  }

  #end(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.#socket.end()
  }
}
