/**
 * Opening a stream to a target. The header leaves at once and bytes may follow it at once; no byte of the far end is seen
 * before its answer, and none at all after a refusal.
 */
import type { Clock } from '../runtime/clock.ts'
import { OpenError, openErrorFrom } from './open-error.ts'
import { decodeAnswer, type OpenAnswer } from './prelude/answer.ts'
import { MessageReader } from './prelude/message.ts'
import { encodeOpenHeader, type OpenHeader } from './prelude/open-header.ts'
import type { SessionDriver } from './session-driver.ts'
import type { ReadGate, TunnelStream } from './tunnel-stream.ts'

/** How long an opener waits for an answer when it names no deadline. */
export const DEFAULT_OPEN_DEADLINE_MS = 30_000

/** What a deadline becomes that is longer: nobody waits that long for a dial. */
const MAX_OPEN_DEADLINE_MS = 10 * 60 * 1000

export interface OutgoingOpen {
  /** May be written to at once. Destroyed where the open fails; `answered` says why. */
  readonly stream: TunnelStream
  /** Resolves with the answer `ok`; rejects with an `OpenError`. Waiting for it is optional. */
  readonly answered: Promise<OpenAnswer>
}

/** Opens a stream to `header.target`. Throws an `OpenError` at once where the session takes no more streams. */
export function openTarget(driver: SessionDriver, header: OpenHeader, clock: Clock): OutgoingOpen {
  const deadlineMs = Math.min(header.deadlineMs ?? DEFAULT_OPEN_DEADLINE_MS, MAX_OPEN_DEADLINE_MS)
  const bytes = encodeOpenHeader({ ...header, deadlineMs })
  let stream: TunnelStream
  try {
    stream = driver.open()
  } catch (error) {
    throw openErrorFrom(error)
  }
  stream.write(bytes)
  return { stream, answered: awaitAnswer(stream, header.target, deadlineMs, clock) }
}

function awaitAnswer(stream: TunnelStream, target: string, deadlineMs: number, clock: Clock): Promise<OpenAnswer> {
  const answered = new Promise<OpenAnswer>((resolve, reject) => {
    const cancelTimer = clock.schedule(deadlineMs, () =>
      stream.destroy(new OpenError('timeout', `no answer from ${target} within ${deadlineMs} ms`)),
    )
    const onClose = (): void => {
      cancelTimer()
      reject(openErrorFrom(stream.errored ?? new OpenError('refused', 'the stream was closed before the answer')))
    }
    stream.once('close', onClose)
    stream.setGate(
      new AnswerGate(target, (answer) => {
        cancelTimer()
        stream.removeListener('close', onClose)
        resolve(answer)
      }),
    )
  })
  // An opener may look at the stream alone or at the answer alone: neither failure is unhandled.
  stream.on('error', () => {})
  answered.catch(() => {})
  return answered
}

class AnswerGate implements ReadGate {
  readonly #reader = new MessageReader()
  readonly #target: string
  readonly #onOk: (answer: OpenAnswer) => void

  constructor(target: string, onOk: (answer: OpenAnswer) => void) {
    this.#target = target
    this.#onOk = onOk
  }

  push(chunk: Uint8Array): Uint8Array | undefined {
    const rest = this.#reader.push(chunk)
    const message = this.#reader.message
    if (rest === undefined || message === undefined) return undefined
    const answer = decodeAnswer(message)
    if (answer.code !== 'ok') throw new OpenError(answer.code, answer.text || `${this.#target}: ${answer.code}`)
    this.#onOk(answer)
    return rest
  }

  ended(): Error {
    return new OpenError('refused', `the far end closed the stream to ${this.#target} without an answer`)
  }
}
