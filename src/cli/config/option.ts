/**
 * What an option of a role is. An option is described once, in the role's file; its flag, its environment variable, its key
 * in the YAML file, its line in `--help`, its check and its place in `config print` all follow from that description.
 *
 *   key in YAML   healthAddress               camelCase, flat
 *   flag          --health-address
 *   environment   CAUSEWAY_UP_HEALTH_ADDRESS  CAUSEWAY_<ROLE>_<KEY>
 */
import type { GenericSchema } from 'valibot'

export type PlainValue = string | number | boolean | readonly PlainValue[] | { readonly [key: string]: PlainValue }

export interface ValueType<T> {
  /** Stands for the value in `--help`. Absent for switches, which take no value. */
  readonly placeholder?: string
  /** Completes the sentence "expected ...". */
  readonly expected: string
  /** Flag may be given more than once; the values are joined by commas, as in the environment variable. */
  readonly repeatable?: boolean
  /** Flags and variables are text. Gives what a YAML file would carry in its place; the schema judges it. */
  fromText(text: string): unknown
  /** Relative paths are resolved against `baseDir`. */
  schema(baseDir: string): GenericSchema<unknown, T>
  /** The value as a YAML file would carry it. */
  toPlain(value: T): PlainValue
}

export interface Option<T> {
  readonly type: ValueType<NonNullable<T>>
  readonly description: string
  /** In the spelling of a flag. Absent: not set unless somebody sets it. */
  readonly default?: string
  /** A secret is never printed. */
  readonly secret?: boolean
  /** Another key whose flag is understood too, and not shown in `--help`. */
  readonly alias?: string
}

export type Options = Readonly<Record<string, Option<unknown>>>

export type ValuesOf<S extends Options> = { readonly [K in keyof S]: S[K] extends Option<infer T> ? T : never }

export interface Role<S extends Options = Options> {
  /** Of the role, and of the command that runs it. */
  readonly name: string
  readonly options: S
  /** What is wrong with values that are each right by themselves: two settings for one port. */
  portClashes?(values: ValuesOf<S>): readonly PortClash[]
}

export interface PortClash {
  readonly port: number
  readonly keys: readonly [string, string]
}

type Described<T> = Omit<Option<T>, 'default'>

/** An option that always has a value. */
export function option<T>(described: Described<T> & { readonly default: string }): Option<T> {
  return described
}

/** An option without a default: `undefined` unless set. */
export function optional<T>(described: Described<T>): Option<T | undefined> {
  return described
}

/** Every environment variable whose name starts so is a setting. */
export const VARIABLE_PREFIX = 'CAUSEWAY_'

export function flagOf(key: string): string {
  return `--${words(key).join('-')}`
}

export function variableOf(role: Role, key: string): string {
  return `${variablePrefixOf(role)}${words(key).join('_').toUpperCase()}`
}

export function variablePrefixOf(role: Role): string {
  return `${VARIABLE_PREFIX}${role.name.toUpperCase()}_`
}

/** The file is named by `--config` or this variable; as a key inside the file it would make no sense. */
export function configFileVariableOf(role: Role): string {
  return `${variablePrefixOf(role)}CONFIG`
}

function words(key: string): string[] {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).split('-')
}
