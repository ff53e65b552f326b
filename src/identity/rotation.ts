/** When to replace a certificate. Pure: the caller brings the time and the dice. */
import type { Validity } from './certificate.ts'

/** Early enough for many retries, and spread wide so that a fleet that joined together does not renew together. */
const ROTATION_WINDOW = { fromLifeFraction: 0.7, toLifeFraction: 0.9 } as const
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

/** Whether so little life is left that the holder should be reissued now. True also after the end. */
export function isNearExpiry(validity: Validity, nowMs: number): boolean {
  return nowMs >= pointOfLife(validity, 1 - NEAR_EXPIRY_LIFE_FRACTION)
}

function pointOfLife({ notBeforeMs, notAfterMs }: Validity, fraction: number): number {
  return Math.floor(notBeforeMs + (notAfterMs - notBeforeMs) * fraction)
}
