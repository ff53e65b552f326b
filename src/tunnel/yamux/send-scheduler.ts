/**
 * Who sends next: deficit round-robin over the streams that have something to send. Each turn a stream earns a quantum; what
 * it could not spend because a frame was too large stays its own while it keeps waiting. A stream that is alone takes full
 * frames at once.
 */
import { MAX_SENT_FRAME_BYTES, SEND_QUANTUM_BYTES } from './limits.ts'

/** The scheduler's side of a stream; the fields are its own book-keeping. */
export interface Sender {
  isScheduled: boolean
  deficitBytes: number
  nextSender: Sender | undefined
  /** True when it has bytes and credit for them, or an end to announce. */
  readonly isSendable: boolean
  /** Appends one frame with at most `maxBytes` of payload; returns the payload's size. */
  emit(maxBytes: number, out: Uint8Array[]): number
}

export class SendScheduler {
  #first: Sender | undefined
  #last: Sender | undefined

  get isEmpty(): boolean {
    return this.#first === undefined
  }

  add(sender: Sender): void {
    if (sender.isScheduled) return
    sender.isScheduled = true
    sender.deficitBytes = 0
    this.#append(sender)
  }

  /** Appends frames of about `maxBytes` in total; the last one may exceed it. Returns the payload bytes. */
  take(maxBytes: number, out: Uint8Array[]): number {
    let takenBytes = 0
    while (takenBytes < maxBytes) {
      const sender = this.#removeFirst()
      if (sender === undefined) break
      takenBytes += this.#turn(sender, out)
      if (sender.isSendable) this.#append(sender)
      else sender.isScheduled = false
    }
    return takenBytes
  }

  #turn(sender: Sender, out: Uint8Array[]): number {
    if (!sender.isSendable) return 0
    if (this.#first === undefined) {
      sender.deficitBytes = 0
      return sender.emit(MAX_SENT_FRAME_BYTES, out)
    }
    sender.deficitBytes += SEND_QUANTUM_BYTES
    const sentBytes = sender.emit(Math.min(sender.deficitBytes, MAX_SENT_FRAME_BYTES), out)
    sender.deficitBytes -= sentBytes
    return sentBytes
  }

  #append(sender: Sender): void {
    sender.nextSender = undefined
    if (this.#last === undefined) this.#first = sender
    else this.#last.nextSender = sender
    this.#last = sender
  }

  #removeFirst(): Sender | undefined {
    const sender = this.#first
    if (sender === undefined) return undefined
    this.#first = sender.nextSender
    if (this.#first === undefined) this.#last = undefined
    sender.nextSender = undefined
    return sender
  }
}
