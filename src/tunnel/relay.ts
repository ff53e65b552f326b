/**
 * Joins a tunnel stream with a socket, both ways and each half by itself: an end passes as an end, a failure as a reset.
 * What one turn of the event loop brought for the socket goes out in one write.
 */
import type { Duplex } from 'node:stream'
import type { TunnelStream } from './tunnel-stream.ts'

/** Bytes put into one write to the socket: enough to save system calls, little enough to stay in the processor's cache. */
const RELAY_BATCH_BYTES = 256 * 1024

/** Less than this is passed on at once, because a small answer must not wait for company. */
const RELAY_GATHER_BYTES = 4 * 1024

/** A socket, as far as it matters here. */
export type RelaySocket = Duplex & { resetAndDestroy?(): unknown }

export interface RelayResult {
  readonly toSocketBytes: number
  readonly toTunnelBytes: number
  /** What went wrong on either side, if it did. */
  readonly error: Error | undefined
}

/** Resolves when both sides are closed; never rejects. */
export function relay(stream: TunnelStream, socket: RelaySocket): Promise<RelayResult> {
  return new Promise((resolve) => new Relay(stream, socket, resolve).start())
}

class Relay {
  readonly #stream: TunnelStream
  readonly #socket: RelaySocket
  readonly #resolve: (result: RelayResult) => void
  #toSocketBytes = 0
  #toTunnelBytes = 0
  #error: Error | undefined
  #isScheduled = false
  #hasEnded = false
  #open = 2

  constructor(stream: TunnelStream, socket: RelaySocket, resolve: (result: RelayResult) => void) {
    this.#stream = stream
    this.#socket = socket
    this.#resolve = resolve
  }

  start(): void {
    const [stream, socket] = [this.#stream, this.#socket]
    for (const side of [stream, socket]) {
      side.on('error', (error: Error) => {
        this.#error ??= error
      })
      side.once('close', () => this.#onClose())
    }
    socket.on('data', (chunk: Buffer) => {
      this.#toTunnelBytes += chunk.length
      if (!stream.write(chunk)) socket.pause()
    })
    socket.once('end', () => stream.end())
    stream.on('drain', () => socket.resume())
    socket.on('drain', () => this.#pump())
    stream.takeOver(() => this.#onReadable())
    // Either side may have gone while the other was being made ready.
    if (stream.destroyed || socket.destroyed) this.#cut()
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
    this.#toSocketBytes += batchBytes
    if (stream.takeEnd()) this.#end()
    else if (batchBytes >= RELAY_BATCH_BYTES && !socket.writableNeedDrain) this.#schedule()
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#socket.end()
  }

  #onClose(): void {
    this.#open -= 1
    if (this.#open === 0) {
      this.#resolve({ toSocketBytes: this.#toSocketBytes, toTunnelBytes: this.#toTunnelBytes, error: this.#error })
      return
    }
    this.#cut()
  }

  /** One side has gone. If it went in good order the other has been ended too; otherwise it is cut off. */
  #cut(): void {
    const [stream, socket] = [this.#stream, this.#socket]
    if (socket.destroyed && !stream.destroyed && !(socket.readableEnded && this.#hasEnded)) stream.destroy()
    if (stream.destroyed && !socket.destroyed && !(this.#hasEnded && stream.writableFinished)) {
      cutOff(socket)
    }
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
