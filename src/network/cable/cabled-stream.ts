/**
 * A connection over a cable that can be pulled: all bytes and both ends of it pass through two delay lines, which stand still
 * while the cable is cut. As with a real one nobody is told: what was sent waits, as it would in the buffers of the kernel, and
 * goes on when the cable is whole again, if both ends still want it then.
 */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import { DelayLine, type LineItem } from './delay-line.ts'

/** In each direction: what is on a link of 1 Gbit/s within 30 ms. Beyond, the sender is not read from. */
export const MAX_CABLE_HELD_BYTES = 4 * 1024 * 1024

/** What a connection asks of its cable, again for every piece. */
export interface CableState {
  readonly isCut: boolean
  /** For each direction. */
  readonly delayMs: number
}

export interface CabledStreamOptions {
  readonly socket: Socket
  readonly state: () => CableState
  readonly clock: Clock
  /** Neither end has anything to do with it any more. */
  readonly onOver: () => void
}

export class CabledStream extends Duplex {
  readonly #options: CabledStreamOptions
  readonly #out = new DelayLine()
  readonly #in = new DelayLine()
  #cancelTimer = (): void => {}
  /** Of a write that has to wait until there is room. */
  #written: (() => void) | undefined
  #wantsBytes = false
  #isSocketFull = false
  #isOver = false

  constructor(options: CabledStreamOptions) {
    super({ allowHalfOpen: true })
    this.#options = options
    const { socket } = options
    let cause: Error | undefined
    socket.on('data', (bytes: Buffer) => this.#receive({ kind: 'bytes', bytes }))
    socket.once('end', () => this.#receive({ kind: 'end' }))
    socket.on('error', (error) => {
      cause = error
    })
    socket.once('close', () => this.#socketClosed(cause))
    socket.on('drain', () => {
      this.#isSocketFull = false
      this.move()
    })
  }

  get localAddress(): string | undefined {
    return this.#options.socket.localAddress
  }

  /** Lets through what may pass now; called when the cable has changed, too. */
  move(): void {
    if (this.#isOver) return
    this.#cancelTimer()
    const { isCut } = this.#options.state()
    if (!isCut) {
      this.#moveOut()
      this.#moveIn()
      this.#scheduleNext()
    }
    this.#pace(isCut)
  }

  /** At once and for both ends, whatever the cable is. */
  tear(): void {
    this.#end()
    this.destroy()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#out.put({ kind: 'bytes', bytes }, this.#dueMs())
    if (this.#out.heldBytes < MAX_CABLE_HELD_BYTES) done()
    else this.#written = done
    this.move()
  }

  override _final(done: () => void): void {
    this.#out.put({ kind: 'end' }, this.#dueMs())
    done()
    this.move()
  }

  override _read(): void {
    this.#wantsBytes = true
    this.move()
  }

  /** What was sent before is under way and arrives; nothing that comes is of interest any more. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#in.clear()
    this.#out.put({ kind: 'close', error: undefined }, this.#dueMs())
    done(error)
    this.move()
  }

  #receive(item: LineItem): void {
    if (this.destroyed) return
    this.#in.put(item, this.#dueMs())
    this.move()
  }

  #moveOut(): void {
    const { socket, clock } = this.#options
    while (!this.#isSocketFull && !this.#isOver) {
      const item = this.#out.take(clock.monotonicMs())
      if (item === undefined) break
      if (item.kind === 'bytes') this.#isSocketFull = !socket.write(item.bytes)
      else if (item.kind === 'end') socket.end()
      else this.#end()
    }
    if (this.#out.heldBytes >= MAX_CABLE_HELD_BYTES) return
    const written = this.#written
    this.#written = undefined
    written?.()
  }

  #moveIn(): void {
    const { clock } = this.#options
    while (!this.destroyed) {
      const next = this.#in.peek(clock.monotonicMs())
      // Whoever does not read hears of the end of the connection all the same.
      if (next === undefined || (next.kind !== 'close' && !this.#wantsBytes)) return
      this.#in.take(clock.monotonicMs())
      if (next.kind === 'bytes') this.#wantsBytes = this.push(next.bytes)
      else if (next.kind === 'end') this.push(null)
      else this.destroy(next.error)
    }
  }

  #pace(isCut: boolean): void {
    const { socket } = this.#options
    if (isCut || this.#in.heldBytes >= MAX_CABLE_HELD_BYTES) socket.pause()
    else socket.resume()
  }

  #scheduleNext(): void {
    const { clock } = this.#options
    const nowMs = clock.monotonicMs()
    const dues = [this.#isSocketFull ? undefined : this.#out.dueMs, this.#wantsBytes ? this.#in.dueMs : undefined]
    const nextMs = Math.min(...dues.map((dueMs) => dueMs ?? Number.POSITIVE_INFINITY))
    if (nextMs === Number.POSITIVE_INFINITY || this.#isOver) return
    this.#cancelTimer = clock.schedule(Math.max(0, nextMs - nowMs), () => this.move())
  }

  /** A connection that ended on a cut cable is over for the far end; the near end hears of it when the cable is whole. */
  #socketClosed(error: Error | undefined): void {
    if (this.destroyed) this.#end()
    else this.#receive({ kind: 'close', error })
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelTimer()
    this.#out.clear()
    this.#in.clear()
    const { socket, onOver } = this.#options
    socket.destroy()
    onOver()
  }

  #dueMs(): number {
    const { state, clock } = this.#options
    return clock.monotonicMs() + state().delayMs
  }
}
