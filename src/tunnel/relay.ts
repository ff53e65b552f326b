/**
 * Joins a stream with a socket, both ways and each half by itself: an end passes as an end, a failure as a reset. The stream is
 * one of a session, of a konnectivity link, or a connection to the API server.
 */
import type { Duplex } from 'node:stream'
import type { Clock } from '../runtime/clock.ts'
import { BatchedPassage, type Passage, PlainPassage } from './passage.ts'
import { TunnelStream } from './tunnel-stream.ts'

/** A socket, as far as it matters here. */
export type RelaySocket = Duplex & { resetAndDestroy?(): unknown }

export interface RelayOptions {
  /**
   * How long the socket may take its last bytes and say goodbye after a stream without half-close has closed in good order.
   * Absent: as long as it likes.
   */
  readonly linger?: { readonly clock: Clock; readonly maxMs: number }
}

export interface RelayResult {
  readonly toSocketBytes: number
  readonly toTunnelBytes: number
  /** What went wrong on either side, if it did. */
  readonly error: Error | undefined
}

/**
 * Resolves when both sides are closed; never rejects. From a stream of a session bytes may pass at once; from others not before
 * the next turn of the event loop, so the caller can still say something of its own first.
 */
export function relay(stream: Duplex, socket: RelaySocket, options: RelayOptions = {}): Promise<RelayResult> {
  return new Promise((resolve) => new Relay(stream, socket, options, resolve).start())
}

class Relay {
  readonly #stream: Duplex
  readonly #socket: RelaySocket
  readonly #options: RelayOptions
  readonly #resolve: (result: RelayResult) => void
  readonly #toTunnel: Passage
  readonly #toSocket: Passage
  #error: Error | undefined
  #open = 2

  constructor(stream: Duplex, socket: RelaySocket, options: RelayOptions, resolve: (result: RelayResult) => void) {
    this.#stream = stream
    this.#socket = socket
    this.#options = options
    this.#resolve = resolve
    this.#toTunnel = new PlainPassage(socket, stream)
    this.#toSocket =
      stream instanceof TunnelStream ? new BatchedPassage(stream, socket) : new PlainPassage(stream, socket)
  }

  start(): void {
    const [stream, socket] = [this.#stream, this.#socket]
    for (const side of [stream, socket]) {
      side.on('error', (error: Error) => {
        this.#error ??= error
      })
      if (side.closed) this.#open -= 1
      else side.once('close', () => this.#onClose())
    }
    this.#toTunnel.start()
    this.#toSocket.start()
    // Either side may have gone while the other was being made ready.
    if (stream.destroyed || socket.destroyed) this.#cut()
    if (this.#open === 0) this.#finish()
  }

  #onClose(): void {
    this.#open -= 1
    if (this.#open === 0) this.#finish()
    else this.#cut()
  }

  #finish(): void {
    const [toSocketBytes, toTunnelBytes] = [this.#toSocket.bytes, this.#toTunnel.bytes]
    this.#resolve({ toSocketBytes, toTunnelBytes, error: this.#error })
  }

  /** One side has gone. If it went in good order the other has been ended too; otherwise it is cut off. */
  #cut(): void {
    const [stream, socket] = [this.#stream, this.#socket]
    if (socket.destroyed && !stream.destroyed && !this.#hasSocketDone()) stream.destroy()
    if (!stream.destroyed || socket.destroyed) return
    if (!this.#hasStreamDone()) cutOff(socket)
    else this.#linger()
  }

  #hasSocketDone(): boolean {
    const { readableEnded, errored } = this.#socket
    // Without half-close the stream closes by the end that was passed on, and what is still on its way must not be cut off.
    const closesByItself = !this.#stream.allowHalfOpen && errored === null
    return readableEnded && (this.#toSocket.hasEnded || closesByItself)
  }

  #hasStreamDone(): boolean {
    const { writableFinished, errored } = this.#stream
    return errored === null && writableFinished && this.#toSocket.hasEnded
  }

  /** Nobody hears the socket any more: it is read to its end, or to the end of its time. */
  #linger(): void {
    const { linger } = this.#options
    const socket = this.#socket
    if (linger !== undefined) {
      const cancel = linger.clock.schedule(linger.maxMs, () => socket.destroy())
      socket.once('close', cancel)
    }
    socket.resume()
  }
}

/** With a reset where the socket can: the far end should see that it did not end well. Node has none for unix sockets and TLS. */
function cutOff(socket: RelaySocket): void {
  try {
    if (socket.resetAndDestroy !== undefined) return void socket.resetAndDestroy()
  } catch {
    // It has the method and cannot reset.
  }
  socket.destroy()
}
