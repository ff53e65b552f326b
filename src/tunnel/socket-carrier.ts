/** A carrier over any byte stream of Node: a TLS socket, a plain socket, a WebSocket's bytes, or one end of a pipe in a test. */
import type { Duplex } from 'node:stream'
import type { Carrier, CarrierListener } from './carrier.ts'

/** A socket, as far as it matters here. */
export type ByteSocket = Duplex & { setNoDelay?(noDelay: boolean): unknown }

export class SocketCarrier implements Carrier {
  readonly description: string
  readonly #socket: ByteSocket
  #error: Error | undefined

  constructor(socket: ByteSocket, description: string) {
    this.#socket = socket
    this.description = description
    // From the first moment: a connection may break before anybody has started the carrier.
    socket.on('error', (error: Error) => {
      this.#error = error
    })
  }

  start(listener: CarrierListener): void {
    const socket = this.#socket
    // Frames leave in batches already; waiting for more would only delay the last one.
    socket.setNoDelay?.(true)
    socket.on('drain', () => listener.onDrain())
    if (socket.closed) queueMicrotask(() => listener.onClose(this.#error ?? socket.errored ?? undefined))
    else socket.once('close', () => listener.onClose(this.#error))
    // A session has no half-close: who ends its bytes has gone.
    socket.once('end', () => socket.end())
    socket.on('data', (chunk: Uint8Array) => listener.onBytes(chunk))
  }

  /** Corked, so that all buffers reach the system in one gathered write. */
  send(buffers: readonly Uint8Array[]): boolean {
    const socket = this.#socket
    if (!socket.writable) return false
    socket.cork()
    for (const buffer of buffers) socket.write(buffer)
    socket.uncork()
    return !socket.writableNeedDrain
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}
