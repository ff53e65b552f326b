/** How long ago something was, as kubectl users read it: two or three significant figures and no more. */

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const hoursPerDay = 24
const daysPerYear = 365

/** Clocks of two machines never agree quite; a start less than this in the future counts as now. */
export const TOLERATED_FUTURE_MS = 2 * secondMs

/** `45s`, `5m30s`, `3h20m`, `5d3h`, `2y10d`; `<invalid>` for what begins in the future. */
export function humanDuration(durationMs: number): string {
  if (durationMs <= -TOLERATED_FUTURE_MS) return '<invalid>'
  const seconds = Math.max(0, Math.trunc(durationMs / secondMs))
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.trunc(durationMs / minuteMs)
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's')
  if (minutes < 3 * 60) return `${minutes}m`
  const hours = Math.trunc(durationMs / hourMs)
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm')
  if (hours < 2 * hoursPerDay) return `${hours}h`
  const days = Math.trunc(hours / hoursPerDay)
  if (days < 8) return twoUnits(days, 'd', hours % hoursPerDay, 'h')
  if (days < 2 * daysPerYear) return `${days}d`
  const years = Math.trunc(days / daysPerYear)
  return years < 8 ? twoUnits(years, 'y', days % daysPerYear, 'd') : `${years}y`
}

/** The time since an instant; `<unknown>` where there is none. */
export function humanAge(sinceMs: number | undefined, nowMs: number): string {
  return sinceMs === undefined ? '<unknown>' : humanDuration(nowMs - sinceMs)
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`
}
