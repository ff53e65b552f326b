/**
 * Where the events of a watch end, by the bytes that pass. A watch may end at any time, but only between two events: half of
 * one is an error to every client, and most then fetch the whole list again.
 */

/** What counts the bytes that are still missing of an event. */
export interface WatchEvents {
  readonly isBetween: boolean
  pass(piece: Buffer): void
}

/** Undefined for representations whose events cannot be told apart here. */
export function watchEventsOf(contentType: string): WatchEvents | undefined {
  if (contentType.startsWith('application/json')) return new LineEvents()
  if (contentType.startsWith('application/vnd.kubernetes.protobuf')) return new FramedEvents()
  return undefined
}

const newline = 0x0a

/** JSON: one line each. */
class LineEvents implements WatchEvents {
  isBetween = true

  pass(piece: Buffer): void {
    if (piece.length > 0) this.isBetween = piece[piece.length - 1] === newline
  }
}

const lengthBytes = 4

/** Protobuf: each behind its length. */
class FramedEvents implements WatchEvents {
  /** The length of the frame, as far as its bytes have come. */
  #length = 0
  #lengthBytes = 0
  #missingBytes = 0

  get isBetween(): boolean {
    return this.#missingBytes === 0 && this.#lengthBytes === 0
  }

  pass(piece: Buffer): void {
    let offset = 0
    while (offset < piece.length) {
      if (this.#missingBytes > 0) {
        const taken = Math.min(this.#missingBytes, piece.length - offset)
        this.#missingBytes -= taken
        offset += taken
      } else {
        this.#takeLengthByte(piece[offset] ?? 0)
        offset += 1
      }
    }
  }

  #takeLengthByte(byte: number): void {
    this.#length = this.#length * 256 + byte
    this.#lengthBytes += 1
    if (this.#lengthBytes < lengthBytes) return
    this.#missingBytes = this.#length
    this.#length = 0
    this.#lengthBytes = 0
  }
}
