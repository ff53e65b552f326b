/** Points in time and durations as Kubernetes writes them in JSON, and as numbers. */

const secondsPerDay = 86_400
/** 0001-01-01T00:00:00Z: Go's time without a value, which API servers print as null and never send. */
export const ZERO_TIME_SECONDS = -62_135_596_800

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/

export interface Instant {
  /** Whole seconds since 1970, rounded towards the past. */
  readonly seconds: number
  readonly microseconds: number
}

/** undefined when the text is no RFC 3339 time, or names a day or an hour that does not exist. */
export function parseTime(text: string): Instant | undefined {
  const match = rfc3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const offsetHours = Number(match[9] ?? 0)
  const offsetMinutes = Number(match[10] ?? 0)
  if (offsetHours > 23 || offsetMinutes > 59) return undefined
  const offset = (offsetHours * 3600 + offsetMinutes * 60) * (match[8] === '-' ? -1 : 1)
  const seconds = daysSinceEpoch(year, month, day) * secondsPerDay + hour * 3600 + minute * 60 + second - offset
  return { seconds, microseconds: Number((match[7] ?? '').padEnd(9, '0').slice(0, 6)) }
}

/** `2026-01-02T03:04:05Z`. Years beyond 9999 and before 1 are printed as Go prints them: whatever is stored can be read. */
export function formatTime(seconds: number | bigint): string {
  return `${formatSeconds(seconds)}Z`
}

/** `2026-01-02T03:04:05.000006Z`. */
export function formatMicroTime(seconds: number | bigint, microseconds: number): string {
  return `${formatSeconds(seconds)}.${String(microseconds).padStart(6, '0')}Z`
}

/** Times in one object are mostly equal or near: the day is worth keeping. */
let lastDay = Number.NaN
let lastDayText = ''

function formatSeconds(seconds: number | bigint): string {
  const day = typeof seconds === 'number' ? Math.floor(seconds / secondsPerDay) : wholeDays(seconds)
  if (day !== lastDay) {
    lastDayText = formatDay(day)
    lastDay = day
  }
  const rest =
    typeof seconds === 'number' ? seconds - day * secondsPerDay : Number(seconds - BigInt(day) * BigInt(secondsPerDay))
  return `${lastDayText}T${twoDigits(Math.floor(rest / 3600))}:${twoDigits(Math.floor(rest / 60) % 60)}:${twoDigits(rest % 60)}`
}

function wholeDays(seconds: bigint): number {
  const days = seconds / BigInt(secondsPerDay)
  return Number(seconds < 0n && seconds % BigInt(secondsPerDay) !== 0n ? days - 1n : days)
}

/** Days of 400 years, after which the calendar repeats; far enough for years that no Date can hold. */
const daysPerCycle = 146_097

function formatDay(day: number): string {
  const cycles = Math.floor(day / daysPerCycle)
  const date = new Date((day - cycles * daysPerCycle) * secondsPerDay * 1000)
  const year = date.getUTCFullYear() + cycles * 400
  const yearText = `${year < 0 ? '-' : ''}${String(Math.abs(year)).padStart(4, '0')}`
  return `${yearText}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}`
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

function daysInMonth(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
}

/** `Date.UTC` takes the years 0 to 99 for 1900 to 1999, so the year is set apart. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getTime() / 1000 / secondsPerDay
}
