/** A single value of a command that is no role, checked like the options of one. */
import { safeParse } from 'valibot'
import { UsageError } from '../failure.ts'
import type { ValueType } from './option.ts'

export function readValue<T>(type: ValueType<T>, text: string, flag: string): T {
  const result = safeParse(type.schema('.'), type.fromText(text))
  if (result.success) return result.output
  throw new UsageError(`${flag}: expected ${type.expected}, got ${JSON.stringify(text)}`)
}
