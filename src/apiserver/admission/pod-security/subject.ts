/** A pod as the rules look at it, and the words in which they speak about it. */
import { type Fields, struct, structs, text, textMap } from '../../kinds/fields.ts'

export interface Container {
  readonly name: string
  readonly fields: Fields
  readonly security: Fields | undefined
}

export interface Subject {
  readonly spec: Fields
  readonly security: Fields | undefined
  readonly annotations: Readonly<Record<string, string>>
  /** Of all three sorts, in the order in which they start. */
  readonly containers: readonly Container[]
}

/** Why a pod does not keep to a rule: in a word, and which part of it. */
export interface Breach {
  readonly reason: string
  readonly detail: string
}

/** From a pod, or from the template of a controller. */
export function subjectOf(pod: Fields): Subject {
  const spec = struct(pod, 'spec') ?? {}
  const containers = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) => structs(spec, list))
  return {
    spec,
    security: struct(spec, 'securityContext'),
    annotations: textMap(struct(pod, 'metadata'), 'annotations'),
    containers: containers.map((fields) => ({
      name: text(fields, 'name'),
      fields,
      security: struct(fields, 'securityContext'),
    })),
  }
}

export function namesOf(containers: readonly Container[]): string[] {
  return containers.map(({ name }) => name)
}

/** `container "a"`, `containers "a", "b"`. */
export function counted(noun: string, names: readonly string[]): string {
  return `${plural(noun, names.length)} ${quoted(names)}`
}

export function plural(noun: string, count: number): string {
  return count === 1 ? noun : `${noun}s`
}

/** What one does, `uses`, and what several do, `use`. */
export function uses(count: number): string {
  return count === 1 ? 'uses' : 'use'
}

export function quoted(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(', ')
}

/** Each once, in order. */
export function distinct(words: readonly string[]): string[] {
  return [...new Set(words)].toSorted()
}

/** `pod and containers "a", "b"`: those who set something, the pod as a whole first. Empty when nobody does. */
export function setters(byPod: boolean, containers: readonly Container[]): string {
  const parts = byPod ? ['pod'] : []
  if (containers.length > 0) parts.push(counted('container', namesOf(containers)))
  return parts.join(' and ')
}
