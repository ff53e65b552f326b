/**
 * The kinds of values options have. Each kind knows how it is written as text, how it is checked and how it is shown.
 */
import { resolve } from 'node:path'
import * as v from 'valibot'
import { canonicalIpAddress } from '../../network/ip-address.ts'
import { formatAddress, type ListenAddress } from '../../network/listen.ts'
import type { ValueType } from './option.ts'

/** A path of a file or folder, absolute once read. In a configuration file it is relative to that file's folder. */
export const filePath: ValueType<string> = {
  placeholder: 'path',
  expected: 'a path',
  fromText: (text) => text,
  schema: (baseDir) =>
    v.pipe(
      v.string(),
      v.nonEmpty('it is empty'),
      v.check((text) => !text.includes('\0'), 'it contains a NUL character'),
      v.transform((text) => resolve(baseDir, text)),
    ),
  toPlain: (path) => path,
}

/** Stands for the standard output where a file could be named. */
export const STANDARD_OUTPUT = '-'

/** A file to write, or `-`. */
export const outputPath: ValueType<string> = {
  ...filePath,
  expected: 'a path, or - for standard output',
  schema: (baseDir) => v.union([v.literal(STANDARD_OUTPUT), filePath.schema(baseDir)]),
}

export const text: ValueType<string> = {
  placeholder: 'text',
  expected: 'text',
  fromText: (given) => given,
  schema: () => v.pipe(v.string(), v.nonEmpty('it is empty')),
  toPlain: (given) => given,
}

export const onOff: ValueType<boolean> = {
  expected: 'true or false',
  fromText: (given) => (given === 'true' ? true : given === 'false' ? false : given),
  schema: () => v.boolean(),
  toPlain: (given) => given,
}

export function integer(min: number, max: number): ValueType<number> {
  return {
    placeholder: 'number',
    expected: `a whole number from ${min} to ${max}`,
    fromText: (given) => (/^-?\d+$/.test(given) ? Number(given) : given),
    schema: () => v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max)),
    toPlain: (given) => given,
  }
}

/** `placeholder` is one word for what is chosen. */
export function oneOf<const T extends string>(placeholder: string, choices: readonly T[]): ValueType<T> {
  return {
    placeholder,
    expected: `one of ${choices.join(', ')}`,
    fromText: (given) => given,
    schema: () => v.picklist(choices),
    toPlain: (given) => given,
  }
}

export function listOf<T>(element: ValueType<T>): ValueType<readonly T[]> {
  return {
    placeholder: `${element.placeholder ?? 'value'},...`,
    expected: `a list, each element ${element.expected}`,
    repeatable: true,
    fromText: (given) => (given === '' ? [] : given.split(',').map((piece) => element.fromText(piece.trim()))),
    schema: (baseDir) => v.array(element.schema(baseDir)),
    toPlain: (given) => given.map((piece) => element.toPlain(piece)),
  }
}

/** Some of the choices, in an order that means something: at least one, and none twice. */
export function orderOf<const T extends string>(placeholder: string, choices: readonly T[]): ValueType<readonly T[]> {
  const isChoice = (given: string): given is T => (choices as readonly string[]).includes(given)
  return {
    ...listOf(oneOf(placeholder, choices)),
    expected: `a list of ${choices.join(', ')}, each at most once`,
    schema: () =>
      v.pipe(
        v.array(v.string()),
        v.nonEmpty('it is empty'),
        v.check(
          (given) => given.every(isChoice),
          ({ input }) => `${quoted(input.find((piece) => !isChoice(piece)))} is none of them`,
        ),
        v.check(
          (given) => repeated(given) === undefined,
          ({ input }) => `${quoted(repeated(input))} stands there more than once`,
        ),
        v.transform((given) => given.filter(isChoice)),
      ),
  }
}

function repeated(list: readonly string[]): string | undefined {
  return list.find((piece, index) => list.indexOf(piece) !== index)
}

const MS_PER_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Longest duration a timer of the runtime can wait. */
export const MAX_DURATION_MS = 2 ** 31 - 1
/** A hundred years: beyond it somebody mistook the unit. */
const MAX_PERIOD_MS = 36_500 * 86_400_000

/** A duration in the spelling of Kubernetes, `1m30s`; in milliseconds once read. */
export const duration: ValueType<number> = {
  placeholder: 'duration',
  expected: 'a duration such as 500ms, 10s or 1m30s',
  fromText: (given) => given,
  schema: () =>
    parsed((given) => {
      const totalMs = millisecondsOf(given, ['ms', 's', 'm', 'h'])
      if (totalMs > MAX_DURATION_MS) throw new Error('it is longer than 24 days')
      return totalMs
    }),
  toPlain: (durationMs) => formatMs(durationMs, ['h', 'm', 's', 'ms']),
}

/** How long something is good for, by the calendar and not by a timer: `365d`, `12h`. In milliseconds once read. */
export const period: ValueType<number> = {
  placeholder: 'period',
  expected: 'a period such as 365d, 12h or 10m',
  fromText: (given) => given,
  schema: () =>
    parsed((given) => {
      const totalMs = millisecondsOf(given, ['s', 'm', 'h', 'd'])
      if (totalMs > MAX_PERIOD_MS) throw new Error('it is longer than a hundred years')
      return totalMs
    }),
  toPlain: (periodMs) => formatMs(periodMs, ['d', 'h', 'm', 's']),
}

function millisecondsOf(given: string, units: readonly string[]): number {
  if (!new RegExp(`^(?:\\d+(?:${units.join('|')}))+$`).test(given))
    throw new Error(`it has no number with a unit (${units.join(', ')})`)
  let totalMs = 0
  for (const [, count, unit] of given.matchAll(/(\d+)(ms|[smhd])/g))
    totalMs += Number(count) * (MS_PER_UNIT[unit ?? ''] ?? 0)
  return totalMs
}

function formatMs(totalMs: number, units: readonly string[]): string {
  let restMs = totalMs
  let shown = ''
  for (const unit of units) {
    const unitMs = MS_PER_UNIT[unit] ?? 1
    const count = Math.floor(restMs / unitMs)
    restMs -= count * unitMs
    if (count > 0) shown += `${count}${unit}`
  }
  return shown === '' ? '0s' : shown
}

/** An IPv4 or IPv6 address, without a zone; in its shortest spelling once read. */
export const ipAddress: ValueType<string> = {
  placeholder: 'ip',
  expected: 'an IP address',
  fromText: (given) => given,
  schema: () =>
    parsed((given) => {
      const address = canonicalIpAddress(given)
      if (address === undefined) throw new Error('it is no IP address')
      return address
    }),
  toPlain: (given) => given,
}

/** A range of addresses: `10.96.0.0/12`, `fd00::/108`. */
export const addressRange: ValueType<string> = {
  placeholder: 'cidr',
  expected: 'a range of addresses such as 10.96.0.0/12',
  fromText: (given) => given,
  schema: () =>
    parsed((given) => {
      const [base = '', bits = '', ...rest] = given.split('/')
      const address = canonicalIpAddress(base)
      const maxBits = address?.includes(':') === true ? 128 : 32
      if (address === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > maxBits)
        throw new Error('it is no address with the length of a prefix')
      return `${address}/${Number(bits)}`
    }),
  toPlain: (given) => given,
}

/** Where to listen: `127.0.0.1:10551`, `[::1]:10551`, `localhost:0`. */
export const listenAddress: ValueType<ListenAddress> = {
  placeholder: 'host:port',
  expected: 'an address such as 127.0.0.1:10551 or [::1]:10551',
  fromText: (given) => given,
  schema: () => parsed(parseListenAddress),
  toPlain: formatAddress,
}

function parseListenAddress(given: string): ListenAddress {
  const match = /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^:]*)):(?<port>[^:]*)$/.exec(given)
  if (match === null) {
    throw new Error(given.includes(':') ? 'an IPv6 address stands in brackets' : 'the port is missing')
  }
  const { bracketed, plain, port = '' } = match.groups ?? {}
  const host = bracketed ?? plain ?? ''
  if (host === '') throw new Error('the host is missing; 0.0.0.0 stands for every address')
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Error('the port is not a number from 0 to 65535')
  return { host, port: Number(port) }
}

/** A schema for a value with a notation of its own. What `parse` throws becomes the reason in the error. */
function parsed<T>(parse: (given: string) => T): v.GenericSchema<unknown, T> {
  return v.pipe(
    v.string(),
    v.rawTransform<string, T>(({ dataset, addIssue, NEVER }) => {
      try {
        return parse(dataset.value)
      } catch (error) {
        addIssue({ message: (error as Error).message })
        return NEVER
      }
    }),
  )
}

/** How a value that is wrong is quoted in an error. */
export function quoted(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  return `the ${typeof value} ${JSON.stringify(value)}`
}
