/** Refuses a head that could be understood in two ways, before anything is read from it. */
import { Refusal } from '../refusal.ts'
import { MAX_HEADERS } from './http-settings.ts'

/** Headers that may stand once: of several the library keeps the first, and another reader the last, and which one was meant nobody knows. */
const singular: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
])

/** `rawHeaders`: names and values in turn, as they came, with one more than is allowed where there were more. */
export function headRefusal(rawHeaders: readonly string[]): Refusal | undefined {
  if (rawHeaders.length > MAX_HEADERS * 2)
    return new Refusal('headers-too-large', `more than the ${MAX_HEADERS} headers that are allowed here`)
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (!singular.has(name)) continue
    if (seen.has(name)) return new Refusal('bad-request', `more than one header ${name}`)
    seen.add(name)
  }
  return undefined
}
