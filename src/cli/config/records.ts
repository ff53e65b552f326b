/**
 * An option that is a list of records, each with options of its own: in a YAML file a list of mappings, on the command line
 * and in a variable the same in one line of YAML or JSON.
 */
import * as v from 'valibot'
import { parse } from 'yaml'
import { suggestion } from '../nearest.ts'
import type { Option, Options, PlainValue, ValuesOf, ValueType } from './option.ts'
import { quoted } from './values.ts'

export function recordsOf<S extends Options>(what: string, options: S): ValueType<readonly ValuesOf<S>[]> {
  return {
    placeholder: 'yaml',
    expected: `a list of ${what}`,
    fromText: (given) => (given === '' ? [] : (parse(given) as unknown)),
    schema: (baseDir) =>
      v.pipe(
        v.array(v.unknown()),
        v.rawTransform<unknown[], readonly ValuesOf<S>[]>(({ dataset, addIssue, NEVER }) => {
          try {
            return dataset.value.map((record, index) => readRecord(options, record, baseDir, index + 1))
          } catch (error) {
            addIssue({ message: (error as Error).message })
            return NEVER
          }
        }),
      ),
    toPlain: (records) => records.map((record) => plainRecord(options, record)),
  }
}

function readRecord<S extends Options>(options: S, record: unknown, baseDir: string, number: number): ValuesOf<S> {
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    throw new Error(`number ${number} is ${quoted(record)}, not a mapping`)
  const given = record as Readonly<Record<string, unknown>>
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(options, key)) continue
    throw new Error(`number ${number}: unknown key "${key}"${suggestion(key, Object.keys(options))}`)
  }
  const values = Object.entries(options).map(([key, option]) => [
    key,
    readMember(option, given[key], baseDir, number, key),
  ])
  return Object.fromEntries(values) as ValuesOf<S>
}

function readMember(option: Option<unknown>, given: unknown, baseDir: string, number: number, key: string): unknown {
  const { type } = option
  const raw = given ?? (option.default === undefined ? undefined : type.fromText(option.default))
  if (raw === undefined) return undefined
  const result = v.safeParse(type.schema(baseDir), raw)
  if (result.success) return result.output
  throw new Error(`number ${number}: ${key}: expected ${type.expected}, got ${quoted(raw)}`)
}

function plainRecord(options: Options, record: Readonly<Record<string, unknown>>): PlainValue {
  const entries = Object.entries(options)
    .filter(([key]) => record[key] !== undefined)
    .map(([key, { type }]) => [key, type.toPlain(record[key] as object)])
  return Object.fromEntries(entries) as PlainValue
}
