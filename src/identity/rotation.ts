/** When to replace a certificate. Pure: the caller brings the time and the dice. */
import type { Validity } from './certificate.ts'

/**
 * Early, because whoever is cut off has what is left of its certificates and no more: at any moment that is at least three fifths
 * of their life. Spread wide, so that a fleet that joined together does not renew together.
 */
const ROTATION_WINDOW = { fromLifeFraction: 0.2, toLifeFraction: 0.4 } as const
/** A moment after this part of the life was drawn by a version that renewed late. */
const LATE_ROTATION_LIFE_FRACTION = 0.7
/** A certificate with less than this part of its life left is replaced at the next start rather than used. */
const NEAR_EXPIRY_LIFE_FRACTION = 0.2

/**
 * The moment to rotate at. Draw it once for each certificate and keep it: drawing again at every start would let a process
 * that restarts often drift ever later. `random` yields numbers from 0 up to but not including 1.
 */
export function drawRotationMs(validity: Validity, random: () => number): number {
  const { fromLifeFraction, toLifeFraction } = ROTATION_WINDOW
  return pointOfLife(validity, fromLifeFraction + (toLifeFraction - fromLifeFraction) * random())
}

/** Whether a moment that was drawn for a certificate, perhaps by an earlier version, still counts. */
export function isTimelyRotation(atMs: number, validity: Validity): boolean {
  return atMs < pointOfLife(validity, LATE_ROTATION_LIFE_FRACTION)
}

/** Whether so little life is left that the holder should be reissued now. True also after the end. */
export function isNearExpiry(validity: Validity, nowMs: number): boolean {
  return nowMs >= pointOfLife(validity, 1 - NEAR_EXPIRY_LIFE_FRACTION)
}

function pointOfLife({ notBeforeMs, notAfterMs }: Validity, fraction: number): number {
  return Math.floor(notBeforeMs + (notAfterMs - notBeforeMs) * fraction)
}
