/**
 * A session on a socket. What is sent in one turn of the event loop goes out as one write, which costs more than all that is
 * in it; bodies wait when the socket has enough, and so does a peer that makes us answer faster than it reads.
 */
import type { Duplex } from 'node:stream'
import type { Guard } from '../../process/safety-net.ts'
import type { Transport } from './send-scheduler.ts'
import { Http2Session } from './session.ts'
import type { SessionEvents, SessionOptions } from './session-options.ts'

/** What waits in one connection to be sent, besides what waits in its streams: enough to fill a fast one between two turns. */
export const MAX_UNSENT_CONNECTION_BYTES = 256 * 1024
/** Unsent bytes beyond which nothing is read of a peer: whoever lets answers to pings and resets pile up has to read them first. */
export const MAX_UNREAD_ANSWER_BYTES = 1024 * 1024

export class SocketTransport implements Transport {
  readonly session: Http2Session
  readonly #socket: Duplex
  readonly #guard: Guard
  #pending: Buffer[] = []
  #pendingBytes = 0
  #isFlushPlanned = false
  #isReadingStopped = false

  /** The socket's errors are its owner's to hear; its end is told to the session. Whatever comes from the socket stands over the guard. */
  constructor(socket: Duplex, options: SessionOptions, events: SessionEvents, guard: Guard) {
    this.#socket = socket
    this.#guard = guard
    this.session = new Http2Session(options, this, events)
    socket.on('data', (chunk: Buffer) =>
      guard(() => {
        this.session.receive(chunk)
        this.#holdReader()
      }),
    )
    socket.on('drain', () => guard(() => this.#drained()))
    socket.once('close', () => guard(() => this.session.end()))
  }

  get canTakeMore(): boolean {
    return this.#unsentBytes < MAX_UNSENT_CONNECTION_BYTES
  }

  send(bytes: Buffer): void {
    this.#pending.push(bytes)
    this.#pendingBytes += bytes.length
    if (this.#isFlushPlanned) return
    this.#isFlushPlanned = true
    setImmediate(this.#flushSoon)
  }

  /** What has been sent so far goes out before anything else happens, such as the end of the socket. */
  flush(): void {
    this.#flush()
  }

  readonly #flushSoon = (): void => this.#guard(() => this.#flush())

  get #unsentBytes(): number {
    return this.#pendingBytes + this.#socket.writableLength
  }

  #flush(): void {
    this.#isFlushPlanned = false
    const pending = this.#pending
    if (pending.length === 0) return
    const bytes = pending.length === 1 ? (pending[0] as Buffer) : Buffer.concat(pending, this.#pendingBytes)
    this.#pending = []
    this.#pendingBytes = 0
    if (!this.#socket.destroyed && this.#socket.writable) this.#socket.write(bytes)
    if (this.canTakeMore) this.session.resume()
  }

  #drained(): void {
    if (this.#isReadingStopped) {
      this.#isReadingStopped = false
      this.#socket.resume()
    }
    this.session.resume()
  }

  #holdReader(): void {
    if (this.#isReadingStopped || this.#unsentBytes < MAX_UNREAD_ANSWER_BYTES) return
    this.#isReadingStopped = true
    this.#socket.pause()
  }
}
