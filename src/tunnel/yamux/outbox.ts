/**
 * What a session has to send, in the order it leaves: control frames, then flags and credit of streams, then payload in
 * turns. Flags and credit are written when they leave, not when they arise, so that however often a stream speaks between
 * two writes it costs one frame.
 */
import { ControlQueue } from './header-slab.ts'
import { SendScheduler } from './send-scheduler.ts'
import type { Stream } from './stream.ts'
import { FrameType } from './wire.ts'

export class Outbox {
  readonly #control = new ControlQueue()
  readonly #scheduler = new SendScheduler()
  readonly #onSendable: () => void
  #announcing: Stream[] = []
  #isSignalled = false

  constructor(onSendable: () => void) {
    this.#onSendable = onSendable
  }

  get controlBytes(): number {
    return this.#control.bytes
  }

  /** Says that there is something to send; once until the next `begin`. */
  signal(): void {
    if (this.#isSignalled) return
    this.#isSignalled = true
    this.#onSendable()
  }

  push(type: number, flags: number, streamId: number, length: number): void {
    this.#control.push(type, flags, streamId, length)
    this.signal()
  }

  announce(stream: Stream): void {
    this.#announcing.push(stream)
    this.signal()
  }

  schedule(stream: Stream): void {
    this.#scheduler.add(stream)
    this.signal()
  }

  /** A turn of sending begins; what comes up from now on is signalled anew. */
  begin(): void {
    this.#isSignalled = false
  }

  takeControl(out: Uint8Array[]): void {
    if (this.#announcing.length > 0) this.writeAnnouncements()
    const control = this.#control.take()
    if (control !== undefined) out.push(control)
  }

  takePayload(maxBytes: number, out: Uint8Array[]): void {
    this.#scheduler.take(maxBytes, out)
  }

  /** Streams have nothing more to say; control frames that are queued still leave. */
  dropStreams(): void {
    this.#announcing = []
  }

  /** Flags and credit as they are now: they leave before any control frame that is pushed later. */
  writeAnnouncements(): void {
    const announcing = this.#announcing
    this.#announcing = []
    for (const stream of announcing) {
      stream.takeAnnouncement((flags, creditBytes) =>
        this.#control.push(FrameType.windowUpdate, flags, stream.id, creditBytes),
      )
    }
  }
}
