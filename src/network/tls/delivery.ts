/**
 * What a peer has sent, on its way from OpenSSL to whoever reads the socket, in turns. Node reads up to 64 KiB of a connection and
 * hands them out record by record, all connections that have something in one turn of the event loop: records of a single byte, or
 * large ones that are dear to read, add up to a stall of everybody. So all sockets share one slice of each turn; what does
 * not fit waits in order, small records as one piece, and a connection that waits is not read from.
 */
import type { TLSSocket } from 'node:tls'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { TURN_MS } from '../../runtime/turns.ts'

/** What is handed out at once where it had to wait: as much as a record holds. */
export const DELIVERY_BYTES = 16 * 1024

/** The slice that all deliveries share. */
export class DeliveryTurns {
  readonly #clock: Clock
  #begunMs: number | undefined
  #waiting = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether one may go now: not if others wait already. */
  get isFree(): boolean {
    return this.#waiting === 0 && this.#hasTime
  }

  /** Calls `deliverSome` turn by turn until it says that nothing is left. */
  wait(deliverSome: () => boolean): void {
    this.#waiting += 1
    const goOn = (): void => {
      let isDone = false
      try {
        isDone = this.#hasTime && deliverSome()
      } finally {
        // What a reader throws ends neither its own deliveries nor those of others.
        if (isDone) this.#waiting -= 1
        else setImmediate(goOn)
      }
    }
    setImmediate(goOn)
  }

  get #hasTime(): boolean {
    const nowMs = this.#clock.monotonicMs()
    if (this.#begunMs === undefined) {
      this.#begunMs = nowMs
      setImmediate(() => {
        this.#begunMs = undefined
      })
    }
    return nowMs - this.#begunMs < TURN_MS
  }
}

/** By the clock of the processor, whose time it is, whatever others go by. */
const processTurns = new DeliveryTurns(systemClock)

/** What a stream is asked for more by. */
const READ_MORE = '_read'

/** Node gives what it reads to `push`, with null for the end. */
type Receiver = Pick<TLSSocket, 'destroyed' | 'push' | typeof READ_MORE | 'read'>

/** From here on the socket hands out what it receives in turns. */
export function deliverInTurns(socket: Receiver, turns: DeliveryTurns = processTurns): void {
  const push = socket.push.bind(socket)
  const read = socket[READ_MORE].bind(socket)
  const waiting: (Buffer | null)[] = []
  let wantedBytes: number | undefined

  const deliverSome = (): boolean => {
    if (socket.destroyed) waiting.length = 0
    const bytes = takeSome(waiting)
    if (bytes !== undefined) push(bytes)
    // As Node does, so that the end is seen although nobody asks for more.
    if (bytes === null) socket.read(0)
    if (waiting.length > 0) return false
    const wanted = wantedBytes
    wantedBytes = undefined
    if (wanted !== undefined && !socket.destroyed) read(wanted)
    return true
  }
  socket.push = (bytes: Buffer | null): boolean => {
    if (waiting.length === 0 && turns.isFree) return push(bytes)
    waiting.push(bytes)
    if (waiting.length === 1) turns.wait(deliverSome)
    // Stops Node from reading; it goes on when it is asked for more.
    return false
  }
  socket[READ_MORE] = (size) => {
    if (waiting.length === 0) read(size)
    else wantedBytes = size
  }
}

/** The next piece of what waits, null at its end; undefined where nothing does. */
function takeSome(waiting: (Buffer | null)[]): Buffer | null | undefined {
  let [bytes, count] = [0, 0]
  for (const piece of waiting) {
    if (piece === null || (count > 0 && bytes + piece.length > DELIVERY_BYTES)) break
    bytes += piece.length
    count += 1
  }
  return count > 0 ? Buffer.concat(waiting.splice(0, count) as Buffer[]) : waiting.shift()
}
