/**
 * Puts a role's configuration together: flag before environment before file before default. Everything that is wrong is
 * reported at once, each problem with the place it came from; with any problem there is no configuration at all.
 */
import { dirname, relative } from 'node:path'
import * as v from 'valibot'
import { UsageError } from '../failure.ts'
import { suggestion } from '../nearest.ts'
import {
  configFileVariableOf,
  flagOf,
  type Option,
  type Options,
  optional,
  type PlainValue,
  type Role,
  type ValuesOf,
  variableOf,
} from './option.ts'
import { unknownVariables } from './unknown-variables.ts'
import { filePath, quoted } from './values.ts'
import { readYamlFile } from './yaml-file.ts'

/** Where a value came from, in words: `--log-level`, `CAUSEWAY_UP_LOG_LEVEL`, `up.yaml:3`, `default`. */
type Origin = string

export interface Setting {
  readonly key: string
  /** Undefined when the option is not set. Never the value of a secret. */
  readonly shown: PlainValue | undefined
  readonly origin: Origin
}

export interface LoadedConfig<S extends Options> {
  readonly values: ValuesOf<S>
  readonly settings: readonly Setting[]
}

export interface ConfigSources {
  /** By key, as commander gives them. `config` is the file. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workingDir: string
}

export class ConfigError extends UsageError {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(role: Role, problems: readonly string[]) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    super([`the configuration of "causeway ${role.name}" has ${count}`, ...problems].join('\n  '))
    this.problems = problems
  }
}

interface Candidate {
  readonly raw: unknown
  readonly origin: Origin
  /** How an error names the value: its origin, and the key where that does not tell it. */
  readonly place: string
  readonly baseDir: string
}

const NOT_SET = 'not set'
const SECRET_SHOWN = '[not shown]'
/** What `expected` says already, in better words. */
const SAID_BY_EXPECTED: ReadonlySet<string> = new Set(['integer', 'min_value', 'max_value'])
const CONFIG_FILE = optional({ type: filePath, description: 'the file itself' })

export function loadConfig<S extends Options>(role: Role<S>, sources: ConfigSources): LoadedConfig<S> {
  const problems: string[] = []
  const candidates = [
    fromFlags(role, sources),
    fromEnvironment(role, sources, problems),
    fromFile(role, sources, problems),
    fromDefaults(role, sources),
  ]
  const values: Record<string, unknown> = {}
  const settings: Setting[] = []
  for (const [key, option] of Object.entries(role.options)) {
    // A wrong value is reported even where a better source hides it, or it would surface only later.
    const read = candidates.flatMap((source) => readCandidate(option, source.get(key), problems) ?? [])
    const [best] = read
    values[key] = best?.value
    settings.push({ key, shown: best && shownOf(option, best.value), origin: best?.origin ?? NOT_SET })
  }
  if (problems.length === 0) problems.push(...clashProblems(role, values as ValuesOf<S>, settings))
  if (problems.length > 0) throw new ConfigError(role, problems)
  return { values: values as ValuesOf<S>, settings }
}

/** Left to the moment of listening, the process would be told of "another" one that has the port: itself. */
function clashProblems<S extends Options>(
  role: Role<S>,
  values: ValuesOf<S>,
  settings: readonly Setting[],
): readonly string[] {
  const named = (key: string): string => {
    const flag = flagOf(key)
    const origin = settings.find((setting) => setting.key === key)?.origin
    return origin === flag ? flag : `${flag} (${origin})`
  }
  const clashes = role.portClashes?.(values) ?? []
  return clashes.map(
    ({ port, keys: [one, other] }) => `${named(one)} and ${named(other)} are both port ${port}: choose different ones`,
  )
}

function shownOf(option: Option<unknown>, value: unknown): PlainValue {
  return option.secret === true ? SECRET_SHOWN : option.type.toPlain(value as object)
}

function readCandidate<T>(
  option: Option<T>,
  candidate: Candidate | undefined,
  problems: string[],
): { value: NonNullable<T>; origin: Origin } | undefined {
  if (candidate === undefined) return undefined
  const { raw, origin, place, baseDir } = candidate
  const result = v.safeParse(option.type.schema(baseDir), raw)
  if (result.success) return { value: result.output, origin }
  const [issue] = result.issues
  const got = option.secret === true ? 'something else (not shown)' : quoted(raw)
  const isSaid = issue.kind === 'schema' || SAID_BY_EXPECTED.has(issue.type) || option.secret === true
  const reason = isSaid ? '' : `: ${issue.message}`
  problems.push(`${place}: expected ${option.type.expected}, got ${got}${reason}`)
  return undefined
}

function fromFlags(role: Role, { flags, workingDir }: ConfigSources): Map<string, Candidate> {
  const found = new Map<string, Candidate>()
  for (const [key, { type, alias = key }] of Object.entries(role.options)) {
    const spelling = flags[key] === undefined ? alias : key
    const given = flags[spelling]
    if (given === undefined) continue
    const raw = typeof given === 'string' ? type.fromText(given) : given
    const place = flagOf(spelling)
    found.set(key, { raw, origin: place, place, baseDir: workingDir })
  }
  return found
}

/** An empty variable counts as not set: that is how scripts and compose files unset one. */
function fromEnvironment(role: Role, sources: ConfigSources, problems: string[]): Map<string, Candidate> {
  const found = new Map<string, Candidate>()
  for (const [key, { type }] of Object.entries(role.options)) {
    const name = variableOf(role, key)
    const given = sources.environment[name]
    if (given === undefined || given === '') continue
    found.set(key, { raw: type.fromText(given), origin: name, place: name, baseDir: sources.workingDir })
  }
  problems.push(...unknownVariables(role, sources.environment))
  return found
}

function fromFile(role: Role, sources: ConfigSources, problems: string[]): Map<string, Candidate> {
  const found = new Map<string, Candidate>()
  const path = configFileOf(role, sources, problems)
  if (path === undefined) return found
  const shownPath = shorter(path, relative(sources.workingDir, path))
  const content = readYamlFile(path)
  for (const { line, message } of content.problems) {
    problems.push(line === undefined ? `${shownPath} ${message}` : `${shownPath}:${line}: ${message}`)
  }
  for (const { key, value, line } of content.entries) {
    const origin = `${shownPath}:${line}`
    const place = `${origin}: ${key}`
    if (Object.hasOwn(role.options, key)) found.set(key, { raw: value, origin, place, baseDir: dirname(path) })
    else problems.push(`${origin}: unknown key "${key}"${suggestion(key, Object.keys(role.options))}`)
  }
  return found
}

function configFileOf(role: Role, { flags, environment, workingDir }: ConfigSources, problems: string[]) {
  const variable = configFileVariableOf(role)
  const byFlag = { raw: flags['config'], origin: '--config', place: '--config', baseDir: workingDir }
  const byVariable = { raw: environment[variable] || undefined, origin: variable, place: variable, baseDir: workingDir }
  const given = [byFlag, byVariable].find(({ raw }) => raw !== undefined)
  return readCandidate(CONFIG_FILE, given, problems)?.value
}

function fromDefaults(role: Role, { workingDir }: ConfigSources): Map<string, Candidate> {
  const found = new Map<string, Candidate>()
  for (const [key, { type, default: given }] of Object.entries(role.options)) {
    if (given === undefined) continue
    const raw = type.fromText(given)
    found.set(key, { raw, origin: 'default', place: `default of ${key}`, baseDir: workingDir })
  }
  return found
}

function shorter(a: string, b: string): string {
  return b.length < a.length ? b : a
}
