/**
 * Two sessions with a wire between them that a test moves by hand, and beside them the naive model: per stream and direction
 * only how many bytes were written and whether the end was. Every byte is a function of its place, so that the reader
 * checks contents without a copy.
 */
import { Budget, type BudgetLimits } from '../../src/tunnel/yamux/budget.ts'
import type { SessionError, StreamError } from '../../src/tunnel/yamux/errors.ts'
import type { SessionLimits } from '../../src/tunnel/yamux/limits.ts'
import { Session } from '../../src/tunnel/yamux/session.ts'
import type { Stream } from '../../src/tunnel/yamux/stream.ts'
import { WireReferee } from './yamux-naive.ts'

export type Side = 'client' | 'server'

const other = (side: Side): Side => (side === 'client' ? 'server' : 'client')

/** One end of one stream: what the model says was done, and what came out. */
export class StreamEnd {
  readonly core: Stream
  readonly #side: Side
  writtenBytes = 0
  hasEnded = false
  isReset = false
  readBytes = 0
  sawEnd = false
  error: StreamError | undefined
  /** Reads whatever comes at once. */
  isEager = false
  mayWrite = true

  constructor(core: Stream, side: Side) {
    this.core = core
    this.#side = side
    core.attach({
      onReadable: () => {
        if (this.isEager) this.readAll()
      },
      onWritable: () => {
        this.mayWrite = true
      },
      onReset: (error) => {
        this.error = error
      },
    })
  }

  get isOver(): boolean {
    return this.isReset || this.error !== undefined
  }

  write(bytes: number): void {
    if (this.hasEnded || this.isOver || !this.mayWrite) return
    this.mayWrite = this.core.write(contents(this.core.id, this.#side, this.writtenBytes, bytes))
    this.writtenBytes += bytes
  }

  end(): void {
    if (this.isOver) return
    this.core.end()
    this.hasEnded = true
  }

  reset(): void {
    this.core.reset()
    this.isReset = true
  }

  readOne(): boolean {
    const chunk = this.core.read()
    if (chunk !== undefined) {
      const expected = contents(this.core.id, other(this.#side), this.readBytes, chunk.length)
      if (!expected.equals(chunk)) throw new Error(`stream ${this.core.id}: wrong bytes at ${this.readBytes}`)
      this.readBytes += chunk.length
    }
    if (this.core.isReadEnded) this.sawEnd = true
    return chunk !== undefined
  }

  readAll(): void {
    while (this.readOne()) {}
  }
}

export interface PairOptions {
  readonly limits?: Partial<SessionLimits>
  readonly budget?: Partial<BudgetLimits>
}

export class End {
  readonly side: Side
  readonly session: Session
  readonly budget: Budget
  readonly streams = new Map<number, StreamEnd>()
  /** Bytes this end has sent and the other has not got. */
  readonly wire: Uint8Array[] = []
  error: SessionError | undefined
  wentAway = 0
  acceptsAtOnce = true

  constructor(side: Side, clock: HandClock, options: PairOptions) {
    this.side = side
    this.budget = new Budget(options.budget)
    this.session = new Session({
      role: side,
      clock,
      budget: this.budget,
      ...(options.limits && { limits: options.limits }),
      handler: {
        onStream: (stream) => {
          if (this.acceptsAtOnce) stream.accept()
          this.streams.set(stream.id, new StreamEnd(stream, side))
        },
        onSendable: () => {},
        onGoAway: () => {
          this.wentAway += 1
        },
        onRoundTrip: () => {},
        onEnd: (error) => {
          this.error = error
        },
      },
    })
  }

  open(): StreamEnd {
    const end = new StreamEnd(this.session.open(), this.side)
    this.streams.set(end.core.id, end)
    return end
  }
}

/** Time that moves only when told. */
export class HandClock {
  #nowMs = 0

  monotonicMs(): number {
    return this.#nowMs
  }

  advance(milliseconds: number): void {
    this.#nowMs += milliseconds
  }
}

export class Pair {
  readonly clock = new HandClock()
  readonly client: End
  readonly server: End
  readonly referee = new WireReferee()

  constructor(options: PairOptions = {}) {
    this.client = new End('client', this.clock, options)
    this.server = new End('server', this.clock, options)
  }

  /** Takes what a session wants to send and puts it on the wire, past the referee. */
  send(side: Side, maxBytes = 256 * 1024): boolean {
    const end = this[side]
    const buffers = end.session.take(maxBytes)
    for (const buffer of buffers) this.referee.sent(side, buffer)
    end.wire.push(...buffers)
    return buffers.length > 0
  }

  /** Delivers the wire of a side, cut into pieces of `pieceBytes`, up to `maxBytes`. */
  deliver(side: Side, maxBytes = Number.POSITIVE_INFINITY, pieceBytes = 16 * 1024): void {
    const { wire } = this[side]
    let left = maxBytes
    while (left > 0) {
      const buffer = wire.shift()
      if (buffer === undefined) return
      const bytes = Math.min(left, pieceBytes, buffer.length)
      if (bytes < buffer.length) wire.unshift(buffer.subarray(bytes))
      left -= bytes
      this[other(side)].session.receive(buffer.subarray(0, bytes))
    }
  }

  /** Moves everything both ways until nobody has anything to say. */
  settle(): void {
    for (let busy = true; busy; ) {
      const clientSent = this.send('client')
      const serverSent = this.send('server')
      busy = clientSent || serverSent || this.client.wire.length + this.server.wire.length > 0
      this.deliver('client')
      this.deliver('server')
    }
  }
}

function contents(streamId: number, writer: Side, offset: number, bytes: number): Buffer {
  const out = Buffer.allocUnsafe(bytes)
  const seed = streamId * 31 + (writer === 'client' ? 0 : 17)
  for (let index = 0; index < bytes; index++) {
    const at = offset + index
    out[index] = seed + at * 7 + (at >> 8)
  }
  return out
}
