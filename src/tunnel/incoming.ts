/**
 * Answering a stream. Whoever serves it gets the header first and the stream only by accepting, so nothing can be written
 * before the answer. Bytes that followed the header wait inside the stream's window.
 */
import type { Clock } from '../runtime/clock.ts'
import { encodeAnswer, type RefusalCode } from './prelude/answer.ts'
import { MessageReader } from './prelude/message.ts'
import { decodeOpenHeader, type OpenHeader } from './prelude/open-header.ts'
import type { ReadGate, TunnelStream } from './tunnel-stream.ts'

/** How long a peer that opened a stream may take to say where to. */
export const OPEN_HEADER_TIMEOUT_MS = 10_000

/** How long a refused stream may linger until the opener has read why. */
export const REFUSAL_LINGER_MS = 5_000

export class IncomingOpen {
  readonly header: OpenHeader
  readonly #stream: TunnelStream
  readonly #clock: Clock
  #isAnswered = false

  constructor(stream: TunnelStream, header: OpenHeader, clock: Clock) {
    this.#stream = stream
    this.header = header
    this.#clock = clock
  }

  /** The opener has gone; whatever is being prepared for it can stop. */
  get isGone(): boolean {
    return this.#stream.destroyed
  }

  /** Calls back when the opener goes before it has been answered. */
  onGone(action: () => void): void {
    if (this.isGone) action()
    else
      this.#stream.once('close', () => {
        if (!this.#isAnswered) action()
      })
  }

  /** Answers `ok`, then hands over the stream. `features` must be among those the opener named. */
  accept(features = 0): TunnelStream {
    if ((features & ~(this.header.features ?? 0)) !== 0) {
      throw new Error(`features 0x${features.toString(16)} were not offered by the opener`)
    }
    this.#answerOnce()
    if (!this.isGone) this.#stream.write(encodeAnswer({ code: 'ok', text: '', features }))
    return this.#stream
  }

  /** Answers with a reason; the text reaches the opener as it is, so it must hold no secret. */
  refuse(code: RefusalCode, text: string): void {
    this.#answerOnce()
    refuseStream(this.#stream, code, text, this.#clock)
  }

  #answerOnce(): void {
    if (this.#isAnswered) throw new Error(`stream to ${this.header.target} was answered twice`)
    this.#isAnswered = true
  }
}

/** Reads the header of a stream the peer opened, then calls `onOpen`. A stream without a readable header is refused here. */
export function receiveOpen(stream: TunnelStream, clock: Clock, onOpen: (open: IncomingOpen) => void): void {
  // Until somebody accepts the stream its errors are nobody's business: the opener has gone.
  stream.on('error', () => {})
  const cancelTimer = clock.schedule(OPEN_HEADER_TIMEOUT_MS, () =>
    refuseStream(stream, 'timeout', `no open header within ${OPEN_HEADER_TIMEOUT_MS} ms`, clock),
  )
  stream.once('close', cancelTimer)
  stream.setGate(
    new HeaderGate(stream, clock, (header) => {
      cancelTimer()
      onOpen(new IncomingOpen(stream, header, clock))
    }),
  )
}

/** Refusals that are the opener's fault; without end they cost it the session. */
const fruitless: Readonly<Partial<Record<RefusalCode, string>>> = {
  denied: 'lead where it may not go',
  invalid: 'do not say in a readable way where they lead',
}

function refuseStream(stream: TunnelStream, code: RefusalCode, text: string, clock: Clock): void {
  if (stream.destroyed) return
  stream.end(encodeAnswer({ code, text, features: 0 }))
  stream.setGate(nobody)
  const cancel = clock.schedule(REFUSAL_LINGER_MS, () => stream.destroy())
  stream.once('close', cancel)
  const fault = fruitless[code]
  if (fault !== undefined) stream.countFruitless(fault)
}

/** Swallows whatever else the opener of a refused stream sends. */
const nobody: ReadGate = { push: () => undefined, ended: () => undefined }

class HeaderGate implements ReadGate {
  readonly #reader = new MessageReader()
  readonly #stream: TunnelStream
  readonly #clock: Clock
  readonly #onHeader: (header: OpenHeader) => void

  constructor(stream: TunnelStream, clock: Clock, onHeader: (header: OpenHeader) => void) {
    this.#stream = stream
    this.#clock = clock
    this.#onHeader = onHeader
  }

  push(chunk: Uint8Array): Uint8Array | undefined {
    let rest: Uint8Array | undefined
    let header: OpenHeader
    try {
      rest = this.#reader.push(chunk)
      const message = this.#reader.message
      if (rest === undefined || message === undefined) return undefined
      header = decodeOpenHeader(message)
    } catch (error) {
      refuseStream(this.#stream, 'invalid', (error as Error).message, this.#clock)
      return undefined
    }
    this.#onHeader(header)
    return rest
  }

  ended(): Error {
    return new Error('the opener ended the stream before its header was complete')
  }
}
