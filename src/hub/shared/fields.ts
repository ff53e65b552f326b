/** The fields of our Secrets and ConfigMaps, read strictly: what is damaged is named and never taken for absent. */
import type { ConfigMap, Secret } from '../../kube/client/types.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { ClusterError } from './cluster-error.ts'

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/

/** The text fields of one object, and its name for messages. */
export class Fields {
  /** Such as `Secret causeway-system/causeway-ca`. */
  readonly source: string
  readonly #values: Readonly<Record<string, string>>

  constructor(source: string, values: Readonly<Record<string, string>>) {
    this.source = source
    this.#values = values
  }

  static ofConfigMap(object: ConfigMap): Fields {
    return new Fields(nameOf('ConfigMap', object), object.data ?? {})
  }

  static ofSecret(object: Secret): Fields {
    const decoded = Object.entries(object.data ?? {}).map(([name, value]) => [name, fromBase64(value)])
    return new Fields(nameOf('Secret', object), Object.fromEntries(decoded) as Record<string, string>)
  }

  get names(): string[] {
    return Object.keys(this.#values)
  }

  /** An empty field is none. */
  optional(name: string): string | undefined {
    return (Object.hasOwn(this.#values, name) && this.#values[name]) || undefined
  }

  required(name: string): string {
    const value = this.optional(name)
    if (value === undefined) throw this.damaged(`it has no field ${name}`)
    return value
  }

  timeMs(name: string): number {
    const text = this.required(name)
    const ms = timePattern.test(text) ? Date.parse(text) : Number.NaN
    if (Number.isNaN(ms)) throw this.damaged(`its field ${name} is no time: ${JSON.stringify(text)}`)
    return ms
  }

  optionalTimeMs(name: string): number | undefined {
    return this.optional(name) === undefined ? undefined : this.timeMs(name)
  }

  damaged(problem: string): ClusterError {
    return new ClusterError(`${this.source} is damaged: ${problem}`)
  }
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

/** Binary fields of a Secret travel as latin1 text here, one character for each byte. */
export function secretData(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, toBase64(value)]))
}

function toBase64(text: string): string {
  return Buffer.from(text, 'latin1').toString('base64')
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('latin1')
}

function nameOf(kind: string, { metadata }: KubeObject): string {
  return `${kind} ${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`
}
