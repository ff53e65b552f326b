/** A time as people and JSON have it: in UTC, to the millisecond. What is no time is shown as the number it is. */
export function isoTime(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}
