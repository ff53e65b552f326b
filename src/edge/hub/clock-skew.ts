/** The clocks of edge and hub beside each other: a wrong one explains many faults of certificates and tokens. */
import { isoTime } from '../../runtime/iso-time.ts'

/** The clocks of edge and hub may differ by this much before it is named as a likely cause: certificates allow as much. */
const NOTABLE_CLOCK_SKEW_MS = 5 * 60 * 1000

interface ClockReading {
  readonly nowMs: number
  /** The hub's clock less ours; absent before the hub has answered anything. */
  readonly skewMs: number | undefined
}

export function isNotable(skewMs: number | undefined): boolean {
  return skewMs !== undefined && Math.abs(skewMs) > NOTABLE_CLOCK_SKEW_MS
}

export function describeSkew({ nowMs, skewMs = 0 }: ClockReading): string {
  return `the clock here says ${isoTime(nowMs)}, that of the hub ${isoTime(nowMs + skewMs)}`
}
