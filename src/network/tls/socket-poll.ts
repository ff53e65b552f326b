/**
 * Reads from a connection of the kernel that nobody else reads from, by asking again and again: for the few moments of a
 * handshake, in which the bytes must not go where Node would send them. Each pause is half of what has been waited for so
 * far, so that it adds at most that to the time of a round trip. A peer that takes its time, or sends its bytes one by one, is asked
 * after in a line with all others of that kind.
 */
import { readSync } from 'node:fs'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { AskingLine } from './asking-line.ts'

/** Bytes of one read, as many as Node itself reads at once. */
const READ_BYTES = 64 * 1024
/** One for all connections: whoever gets it is done with it before anything else is read. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES)

/** The first pause between two reads of a handshake. */
const HANDSHAKE_POLL_MIN_MS = 1
/** The longest: whoever has not answered for seconds is no more in a hurry. */
const HANDSHAKE_POLL_MAX_MS = 500
/** How often one handshake is asked after before it goes to the line: for a second of silence, or two answers of a far peer. */
const HANDSHAKE_EAGER_ASKS = 16

/** Whose time the pauses are of, and the line for those that take longer. */
export interface PollPace {
  readonly clock: Clock
  readonly line: AskingLine
}

/** By the clock that the kernel goes by, whatever others go by, and in one line for the whole process. */
const processPace: PollPace = { clock: systemClock, line: new AskingLine(systemClock) }

export interface SocketPollOptions {
  /** The number of the connection, negative once it is closed: another one may have it then. */
  readonly fd: () => number
  /** Of the peer. */
  readonly address: string
  /** The bytes are only there until this returns. */
  readonly onBytes: (bytes: Buffer) => void
  readonly onEnd: () => void
  readonly onError: (error: Error) => void
}

export class SocketPoll {
  readonly #options: SocketPollOptions
  readonly #pace: PollPace
  #waitedMs = 0
  #asks = 0
  /** The present one; when another ends, that means nothing any more. */
  #pause: object | undefined
  #leaveLine = (): void => {}
  #isStopped = false

  constructor(options: SocketPollOptions, pace: PollPace = processPace) {
    this.#options = options
    this.#pace = pace
  }

  /** Goes on from where it is. */
  start(): void {
    if (this.#isStopped || this.#pause !== undefined) return
    const pauseMs = Math.min(HANDSHAKE_POLL_MAX_MS, HANDSHAKE_POLL_MIN_MS + this.#waitedMs / 2)
    const pause = {}
    this.#pause = pause
    const ask = (): void => {
      if (this.#pause !== pause) return
      this.#pause = undefined
      this.#waitedMs += pauseMs
      this.#ask()
    }
    const goOn = (): void => {
      if (this.#pause !== pause) return
      if (this.#asks < HANDSHAKE_EAGER_ASKS) ask()
      else this.#leaveLine = this.#pace.line.enter(this.#options.address, ask)
    }
    // A process waits for its handshakes as for all it reads.
    void this.#pace.clock.sleep(pauseMs).then(goOn)
  }

  pause(): void {
    this.#pause = undefined
    this.#leaveLine()
  }

  /** Nothing is read any more. */
  stop(): void {
    this.#isStopped = true
    this.pause()
  }

  #ask(): void {
    const { onBytes, onEnd, onError } = this.#options
    const fd = this.#options.fd()
    if (fd < 0) return
    this.#asks += 1
    const read = tryRead(fd)
    if (read instanceof Error) onError(read)
    else if (read === 0) onEnd()
    else {
      this.start()
      if (read === undefined) return
      this.#waitedMs = 0
      onBytes(readBuffer.subarray(0, read))
    }
  }
}

/** How many bytes have come, 0 after the last; undefined where there are none yet. */
function tryRead(fd: number): number | undefined | Error {
  const { stackTraceLimit } = Error
  // To be told that there is nothing yet costs an error, and most of an error is its stack.
  Error.stackTraceLimit = 0
  try {
    return readSync(fd, readBuffer)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? undefined : (error as Error)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
