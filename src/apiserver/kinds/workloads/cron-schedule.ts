/** The schedules of CronJobs: five fields of ranges and steps, or a word such as `@daily`. */
import { parseDuration } from '../../../kube/codec/duration.ts'

interface Bounds {
  readonly min: number
  readonly max: number
  readonly names: Readonly<Record<string, number>>
}

const fieldBounds: readonly Bounds[] = [
  { min: 0, max: 59, names: {} },
  { min: 0, max: 23, names: {} },
  { min: 1, max: 31, names: {} },
  {
    min: 1,
    max: 12,
    names: numbered(['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'], 1),
  },
  { min: 0, max: 6, names: numbered(['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'], 0) },
]
const descriptors = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'])
const everyPrefix = '@every '

/** What is wrong with a schedule, in the words of the API server; undefined when nothing is. */
export function scheduleBreach(schedule: string): string | undefined {
  const spec = schedule.replace(/^(?:TZ|CRON_TZ)=\S+\s+/, '').trim()
  if (spec.startsWith('@')) return descriptorBreach(spec)
  const fields = spec.split(/\s+/).filter((field) => field !== '')
  if (fields.length !== fieldBounds.length) {
    return `expected exactly ${fieldBounds.length} fields, found ${fields.length}: [${fields.join(' ')}]`
  }
  for (const [index, bounds] of fieldBounds.entries()) {
    for (const range of (fields[index] ?? '').split(',').filter((part) => part !== '')) {
      const breach = rangeBreach(range, bounds)
      if (breach !== undefined) return breach
    }
  }
  return undefined
}

function descriptorBreach(spec: string): string | undefined {
  if (descriptors.has(spec)) return undefined
  if (!spec.startsWith(everyPrefix)) return `unrecognized descriptor: ${spec}`
  const duration = spec.slice(everyPrefix.length)
  if (parseDuration(duration) !== undefined) return undefined
  return `failed to parse duration ${spec}: ${durationBreach(duration)}`
}

function durationBreach(duration: string): string {
  const quoted = JSON.stringify(duration)
  const [, unit] = /^[+-]?[0-9.]+([^0-9.]+)/.exec(duration) ?? []
  if (unit !== undefined) return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`
  return /^[+-]?[0-9.]+$/.test(duration)
    ? `time: missing unit in duration ${quoted}`
    : `time: invalid duration ${quoted}`
}

function rangeBreach(range: string, bounds: Bounds): string | undefined {
  const [interval = '', stepText, ...moreSteps] = range.split('/')
  const [low = '', high, ...moreHyphens] = interval.split('-')
  const isStar = low === '*' || low === '?'
  let [start, end] = [bounds.min, bounds.max]
  if (!isStar) {
    const first = parseNumber(low, bounds)
    if (typeof first === 'string') return first
    if (moreHyphens.length > 0) return `too many hyphens: ${range}`
    const last = high === undefined ? first : parseNumber(high, bounds)
    if (typeof last === 'string') return last
    ;[start, end] = [first, last]
  }
  if (moreSteps.length > 0) return `too many slashes: ${range}`
  const step = stepText === undefined ? 1 : parseNumber(stepText, { ...bounds, names: {} })
  if (typeof step === 'string') return step
  if (stepText !== undefined && high === undefined) end = bounds.max
  return limitBreach(range, start, end, step, bounds)
}

function limitBreach(range: string, start: number, end: number, step: number, bounds: Bounds): string | undefined {
  if (start < bounds.min) return `beginning of range (${start}) below minimum (${bounds.min}): ${range}`
  if (end > bounds.max) return `end of range (${end}) above maximum (${bounds.max}): ${range}`
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`
  return step === 0 ? `step of range should be a positive number: ${range}` : undefined
}

function parseNumber(expression: string, bounds: Bounds): number | string {
  const named = bounds.names[expression.toLowerCase()]
  if (named !== undefined) return named
  if (/^[+-]?[0-9]+$/.test(expression)) {
    const value = Number(expression)
    return value < 0 ? `negative number (${value}) not allowed: ${expression}` : value
  }
  return `failed to parse int from ${expression}: strconv.Atoi: parsing ${JSON.stringify(expression)}: invalid syntax`
}

function numbered(names: readonly string[], first: number): Record<string, number> {
  return Object.fromEntries(names.map((name, index) => [name, index + first]))
}
