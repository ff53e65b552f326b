/**
 * What time it is, for judging tokens without the API server: a time that does not go back when the clock of the machine does,
 * or begins in 1970 after a power cut. Pure: both clocks are brought by the caller.
 *
 *   proven  the last date that an authenticated peer has told, plus what has passed since on the monotonic clock
 *   floor   the latest time that was ever believed, plus the same
 *
 * "Now" is the clock of the machine, but never before the floor. The clock raises the floor, or a token that has expired by it
 * would be good again as soon as it is set back. It raises it no further than `MAX_UNPROVEN_MS` beyond what is proven: a clock
 * that jumped ahead by years is obeyed while it says so, but once it is corrected no more than that stays of it, and nothing
 * once a peer has told the date. That much a node may really have been off or asleep, which the monotonic clock does not count,
 * and longer it could not serve anyway: its certificates are over by then.
 */

/** How far beyond the last proven date the clock of the machine is believed for good: longer than certificates of nodes live. */
export const MAX_UNPROVEN_MS = 31 * 24 * 60 * 60 * 1000
/** By how much the clocks of peers may differ from one another: within this their word does not turn time back. */
export const PEER_SKEW_MS = 60_000

export interface SteadyState {
  readonly provenMs: number
  readonly floorMs: number
  /** When these were true, on the monotonic clock. */
  readonly atMs: number
}

export interface Clocks {
  readonly wallMs: number
  readonly monotonicMs: number
}

export interface Remembered {
  readonly provenMs: number
  readonly floorMs: number
}

/** Of a process that starts: nobody knows how long the one before has been gone, so no time has passed. */
export function beginSteady({ wallMs, monotonicMs: atMs }: Clocks, remembered?: Remembered): SteadyState {
  if (remembered === undefined) return { provenMs: wallMs, floorMs: wallMs, atMs }
  return advance({ ...remembered, atMs }, { wallMs, monotonicMs: atMs })
}

/** Lets time pass, and the clock of the machine raise the floor. */
export function advance(state: SteadyState, { wallMs, monotonicMs }: Clocks): SteadyState {
  const passedMs = Math.max(0, monotonicMs - state.atMs)
  const provenMs = state.provenMs + passedMs
  const believedMs = Math.min(wallMs, provenMs + MAX_UNPROVEN_MS)
  return { provenMs, floorMs: Math.max(state.floorMs + passedMs, believedMs), atMs: monotonicMs }
}

/** Of a state that has just been advanced. */
export function steadyNow({ floorMs }: SteadyState, { wallMs }: Clocks): number {
  return Math.max(wallMs, floorMs)
}

/** An authenticated peer has told the date. It is right, also where that turns time back. */
export function afterTold(state: SteadyState, dateMs: number): SteadyState {
  const isAhead = state.floorMs > dateMs + PEER_SKEW_MS
  return { ...state, provenMs: dateMs, floorMs: isAhead ? dateMs : Math.max(state.floorMs, dateMs) }
}

/** Something that was signed then shows that it is at least that late. */
export function afterSigned(state: SteadyState, dateMs: number): SteadyState {
  return { ...state, provenMs: Math.max(state.provenMs, dateMs), floorMs: Math.max(state.floorMs, dateMs) }
}
