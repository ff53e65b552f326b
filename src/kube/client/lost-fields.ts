/**
 * Objects that were read from a server newer than our schema lack the fields that we do not know. Sending such an object
 * back would delete them, so the object remembers what it lost. The memory is a symbol: it survives a copy by spreading,
 * and nobody sees it who does not ask.
 */
import type { KubeObject } from '../objects.ts'

const lostFields = Symbol('lost fields')

interface Marked {
  readonly [lostFields]?: readonly string[]
}

/** Marks an object, and the items if it is a list: the reader does not say which item lost what. */
export function markLostFields(object: KubeObject, names: readonly string[]): void {
  Object.assign(object, { [lostFields]: names })
  if (Array.isArray(object['items'])) for (const item of object['items']) Object.assign(item, { [lostFields]: names })
}

/** The fields that the object had on the wire and does not have here, such as `PodSpec field 999`; mostly none. */
export function lostFieldsOf(object: KubeObject): readonly string[] {
  return (object as Marked)[lostFields] ?? []
}

/** Throws when sending the object would delete what we could not read. */
export function refuseLostFields(object: KubeObject): void {
  const lost = lostFieldsOf(object)
  if (lost.length === 0) return
  const subject = [object.kind ?? 'the object', object.metadata?.name].filter((part) => part !== undefined).join(' ')
  throw new TypeError(
    `${subject} was read without ${lost.join(', ')}, which sending it would delete; use a patch, or a client in JSON`,
  )
}
