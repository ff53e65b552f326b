/** Durations as Go writes them: `1h30m0s`, `1.5s`, `100ms`; nanoseconds on the wire. */

const unitNanoseconds: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

const part = /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y
const maxDurationCharacters = 64
const limit = 2n ** 63n

/** undefined when the text is no duration or longer than 64 bits of nanoseconds can say. */
export function parseDuration(text: string): bigint | undefined {
  const negative = text.startsWith('-')
  const body = /^[+-]/.test(text) ? text.slice(1) : text
  if (body === '0') return 0n
  if (body === '' || body.length > maxDurationCharacters) return undefined
  let total = 0n
  part.lastIndex = 0
  while (part.lastIndex < body.length) {
    const match = part.exec(body)
    if (match === null) return undefined
    const [, whole = '', fraction = '', unit = ''] = match
    if (whole === '' && fraction === '') return undefined
    const nanoseconds = unitNanoseconds[unit] as bigint
    total += BigInt(whole === '' ? '0' : whole) * nanoseconds
    if (fraction !== '') total += (BigInt(fraction) * nanoseconds) / 10n ** BigInt(fraction.length)
  }
  const value = negative ? -total : total
  return value < limit && value >= -limit ? value : undefined
}

export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s'
  if (nanoseconds < 0n) return `-${formatDuration(-nanoseconds)}`
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 1_000n)}µs`
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 1_000_000n)}ms`
  const hours = nanoseconds / 3_600_000_000_000n
  const minutes = (nanoseconds / 60_000_000_000n) % 60n
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 1_000_000_000n)}s`
  if (hours > 0n) return `${hours}h${minutes}m${seconds}`
  return minutes > 0n ? `${minutes}m${seconds}` : seconds
}

/** `value / unit` with as many decimal places as it takes; units are powers of ten. */
function decimal(value: bigint, unit: bigint): string {
  const rest = value % unit
  if (rest === 0n) return String(value / unit)
  const places = String(unit).length - 1
  return `${value / unit}.${String(rest).padStart(places, '0').replace(/0+$/, '')}`
}
