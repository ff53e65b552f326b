/**
 * Is the peer alive, and how far away is it. Silence is counted in intervals that were really waited through, not in elapsed
 * time: a process that was stopped, or a machine that slept, asks again before it gives up.
 */
import { SessionError } from './errors.ts'
import { MAX_SILENT_INTERVALS, MAX_UNANSWERED_PINGS, RTT_MAX_AGE_MS } from './limits.ts'

export class Keepalive {
  readonly #intervalMs: number
  #dueMs: number
  #silentIntervals = 0
  #heardSinceTick = true
  #wanted = true
  /** Intervals through which a ping could not even leave. */
  #unsentIntervals = 0
  #nextPing = 0
  readonly #sentMs = new Map<number, number>()
  #rttMs: number | undefined
  #shortestRttMs: number | undefined
  #measuredMs = Number.NEGATIVE_INFINITY

  constructor(intervalMs: number, nowMs: number) {
    this.#intervalMs = intervalMs
    this.#dueMs = nowMs + intervalMs
  }

  get dueMs(): number {
    return this.#dueMs
  }

  /** Smoothed round trip, once there is one. */
  get rttMs(): number | undefined {
    return this.#rttMs
  }

  /** What the way itself takes: the other measure grows with whatever queues on it. */
  get shortestRttMs(): number | undefined {
    return this.#shortestRttMs
  }

  /** True when a ping should leave with the next bytes. */
  get wantsPing(): boolean {
    return this.#wanted
  }

  /** Any byte is a sign of life. */
  onBytes(): void {
    this.#heardSinceTick = true
  }

  /** Asks for a new measurement if the last is old and none is under way; true if a ping is now wanted. */
  refresh(nowMs: number): boolean {
    if (this.#wanted || this.#sentMs.size > 0 || nowMs - this.#measuredMs < RTT_MAX_AGE_MS) return false
    this.#wanted = true
    return true
  }

  /** Asks for a ping with the next bytes, whatever else is under way. */
  wantPing(): void {
    this.#wanted = true
  }

  /** The value of the ping that leaves now. */
  ping(nowMs: number): number {
    const value = this.#nextPing
    this.#nextPing = (value + 1) >>> 0
    this.#wanted = false
    this.#unsentIntervals = 0
    this.#sentMs.set(value, nowMs)
    return value
  }

  /** Takes an answer; false if nobody asked. */
  onPong(value: number, nowMs: number): boolean {
    const sentMs = this.#sentMs.get(value)
    if (sentMs === undefined) return false
    // Answers come in order, so older questions will not be answered any more.
    for (const asked of this.#sentMs.keys()) {
      this.#sentMs.delete(asked)
      if (asked === value) break
    }
    const sampleMs = Math.max(0, nowMs - sentMs)
    this.#rttMs = this.#rttMs === undefined ? sampleMs : (this.#rttMs + sampleMs) / 2
    this.#shortestRttMs = Math.min(sampleMs, this.#shortestRttMs ?? sampleMs)
    this.#measuredMs = nowMs
    return true
  }

  /** To be called when `dueMs` has come. Throws when the peer has to be given up. */
  tick(nowMs: number): void {
    if (nowMs < this.#dueMs) return
    this.#dueMs = nowMs + this.#intervalMs
    this.#silentIntervals = this.#heardSinceTick ? 0 : this.#silentIntervals + 1
    this.#heardSinceTick = false
    if (this.#silentIntervals >= MAX_SILENT_INTERVALS) {
      const seconds = (this.#silentIntervals * this.#intervalMs) / 1000
      throw new SessionError('keepalive-timeout', `the peer sent nothing for ${seconds} s`, 'internalError')
    }
    if (this.#wanted) this.#unsentIntervals += 1
    const unanswered = this.#sentMs.size + this.#unsentIntervals
    if (unanswered >= MAX_UNANSWERED_PINGS) {
      throw new SessionError('keepalive-timeout', `the peer left ${unanswered} pings unanswered`, 'internalError')
    }
    this.#wanted = true
  }
}
