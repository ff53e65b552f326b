/** How much the peer may send: on the connection, and on each stream. */
import { windowUpdateFrame } from './control-frames.ts'
import type { Transport } from './send-scheduler.ts'
import { settingsFrame } from './settings.ts'
import type { Http2Stream } from './stream.ts'
import { DEFAULT_WINDOW_BYTES, ErrorCode, Http2Error, Setting } from './wire.ts'

export class ReceiveWindows {
  readonly #transport: Transport
  readonly #connectionBytes: number
  #connectionLeft: number
  #uncredited = 0
  /** What we want streams to have, and what the peer has taken note of. */
  #streamBytes: number
  #knownStreamBytes: number = DEFAULT_WINDOW_BYTES
  /** The window that each settings frame under way announced, in their order. */
  readonly #toAcknowledge: number[] = []

  constructor(transport: Transport, windows: { readonly connectionBytes: number; readonly streamBytes: number }) {
    this.#transport = transport
    this.#connectionBytes = windows.connectionBytes
    this.#connectionLeft = Math.max(windows.connectionBytes, DEFAULT_WINDOW_BYTES)
    this.#streamBytes = windows.streamBytes
  }

  /** With the first settings of the connection. */
  begin(others: readonly (readonly [id: number, value: number])[]): void {
    this.#toAcknowledge.push(this.#streamBytes)
    this.#transport.send(settingsFrame([[Setting.initialWindowSize, this.#streamBytes], ...others]))
    const more = this.#connectionBytes - DEFAULT_WINDOW_BYTES
    if (more > 0) this.#transport.send(windowUpdateFrame(0, more))
  }

  /** What a new stream has. */
  get forNewStream(): number {
    return this.#knownStreamBytes
  }

  /** Sets the window of every stream, those that are open included. */
  setStreamWindow(bytes: number, streams: Iterable<Http2Stream>): void {
    this.#streamBytes = bytes
    this.#toAcknowledge.push(bytes)
    this.#transport.send(settingsFrame([[Setting.initialWindowSize, bytes]]))
    // Little that was read and not told may be all there is of a smaller window: nothing would come that brings it up again.
    for (const stream of streams) this.#credit(stream)
  }

  /** The peer keeps to our settings from here on. */
  taken(streams: Iterable<Http2Stream>): void {
    const bytes = this.#toAcknowledge.shift()
    if (bytes === undefined) throw new Http2Error(ErrorCode.protocolError, 'settings taken that nobody has sent')
    for (const stream of streams) stream.receiveWindow += bytes - this.#knownStreamBytes
    this.#knownStreamBytes = bytes
  }

  /** What is received is booked to its stream at once: the window of the connection bounds the flow and not the memory. */
  received(bytes: number): void {
    this.#connectionLeft -= bytes
    if (this.#connectionLeft < 0) throw new Http2Error(ErrorCode.flowControlError, 'more than the connection takes')
    this.#uncredited += bytes
    if (this.#uncredited * 2 < this.#connectionBytes) return
    this.#transport.send(windowUpdateFrame(0, this.#uncredited))
    this.#connectionLeft += this.#uncredited
    this.#uncredited = 0
  }

  /** The reader of a stream has taken as much. */
  consumed(stream: Http2Stream, bytes: number): void {
    stream.uncreditedBytes += bytes
    this.#credit(stream)
  }

  #credit(stream: Http2Stream): void {
    if (stream.uncreditedBytes === 0 || stream.uncreditedBytes * 2 < this.#streamBytes) return
    this.#transport.send(windowUpdateFrame(stream.id, stream.uncreditedBytes))
    stream.receiveWindow += stream.uncreditedBytes
    stream.uncreditedBytes = 0
  }
}
