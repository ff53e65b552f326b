/** Faults of dates that a wrong clock explains: said beside them, since nobody looks at the clock by himself. */

import { describeSkew, isNotable } from '../hub/clock-skew.ts'
import { HubError, type HubTlsCode } from '../hub/hub-error.ts'

const dateCodes: ReadonlySet<string> = new Set<HubTlsCode>(['hub-expired', 'hub-not-yet-valid'])

/** To be appended to the message of the error; empty if no clock has to do with it. */
export function clockHint(error: unknown, nowMs: number): string {
  if (!(error instanceof HubError)) return ''
  if (dateCodes.has(error.code)) return `; ${clockHere(nowMs)}`
  const skewMs = error.hubTimeMs === undefined ? undefined : error.hubTimeMs - nowMs
  return isNotable(skewMs) ? `; ${describeSkew({ nowMs, skewMs })}` : ''
}

export function clockHere(nowMs: number): string {
  return `the clock here says ${new Date(nowMs).toISOString()}: compare it with that of the hub`
}
