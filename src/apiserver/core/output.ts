/**
 * Items as bytes in the representation that a client negotiated. The bytes of an object are kept, so a list in JSON is a
 * matter of copying, and so is a watch event.
 */

import { bodyForm } from '../../kube/codec/encode-body.ts'
import type { Representation } from '../../kube/representation.ts'
import type { Item } from '../objects/item.ts'
import type { Resource } from '../objects/resource.ts'
import type { RenderAsker, Renderer } from './renderer.ts'
import { objectParts } from './shape.ts'

const lineFeed = Buffer.from('\n')

export interface OutputContext {
  readonly resource: Resource
  readonly representation: Representation
  readonly pretty: boolean
  readonly nowMs: number
}

/** One object as a whole response body. */
export async function objectBody(
  stored: Item,
  output: OutputContext,
  renderer: Renderer,
  asker: RenderAsker,
): Promise<Buffer> {
  const { representation, pretty } = output
  const { item, row } = await renderer.ready(stored, output, asker)
  const isObject = representation.as === 'Object'
  if (isObject && representation.encoding === 'protobuf') return item.protobuf
  const json = objectParts(item, output, row)
  const form = bodyForm(representation.encoding, pretty)
  return form === 'compact' ? Buffer.concat([...json, lineFeed]) : await renderer.encode(json, form, asker)
}

/** Whether the bytes that items keep can be sent as they are. */
export function isPlainJson({ representation, pretty }: OutputContext): boolean {
  return representation.as === 'Object' && representation.encoding === 'json' && !pretty
}
