/**
 * One connection inside a link, as a Node stream. The wire has neither credits nor half-close: what the reader does not take is
 * kept here, and how much that may be is decided by `LinkPressure`; ending the writing side asks the peer to close, and what
 * it still sends until it has done so is delivered.
 */
import { Duplex } from 'node:stream'

/** Payload of one packet: what the stock server sends at most, and so what every agent takes. */
const MAX_DATA_BYTES = 32 * 1024

type Done = (error?: Error | null) => void

/** What a connection needs of its link. */
export interface ConnectionLink {
  sendData(id: number, data: Uint8Array, done?: Done): void
  /** The connection ends on our side. */
  closing(connection: PacketConnection): void
  /** The number of bytes that wait for the reader has changed. */
  queueChanged(connection: PacketConnection): void
}

export class PacketConnection extends Duplex {
  readonly id: number
  readonly #link: ConnectionLink
  #isOver = false

  constructor(id: number, link: ConnectionLink) {
    super({ allowHalfOpen: false, readableHighWaterMark: MAX_DATA_BYTES, writableHighWaterMark: 2 * MAX_DATA_BYTES })
    this.id = id
    this.#link = link
    // Whoever reads hears of errors too; one that comes before it must not end the process.
    this.on('error', () => {})
  }

  receive(data: Uint8Array): void {
    if (this.destroyed || this.#isOver) return
    this.push(data)
    this.#link.queueChanged(this)
  }

  /** The peer has closed it, or agreed to our closing. What came before can still be read. */
  over(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.destroyed) this.push(null)
  }

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size)
    if (chunk !== null) this.#link.queueChanged(this)
    return chunk
  }

  override _read(): void {
    // Packets come when they come.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    if (this.#isOver) {
      done()
      return
    }
    let offset = 0
    for (; offset + MAX_DATA_BYTES < chunk.length; offset += MAX_DATA_BYTES)
      this.#link.sendData(this.id, chunk.subarray(offset, offset + MAX_DATA_BYTES))
    this.#link.sendData(this.id, chunk.subarray(offset), done)
  }

  override _final(done: Done): void {
    this.#link.closing(this)
    done()
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#link.closing(this)
    this.#link.queueChanged(this)
    done(error)
  }
}
