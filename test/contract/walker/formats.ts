/** The two walkers with the codec that reads and writes their documents: what the suite is run on. */
import { parseJson, printJson } from '../../../src/kube/codec/json.ts'
import { decodeProtobuf, encodeProtobuf } from '../../../src/kube/codec/object-codec.ts'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { jsonWalker } from '../../../src/kube/walker/json-walker.ts'
import { protobufWalker } from '../../../src/kube/walker/protobuf-walker.ts'
import type { DocumentWalker } from '../../../src/kube/walker/walker.ts'

export interface Format {
  readonly name: string
  readonly walker: DocumentWalker
  readonly encode: (object: KubeObject) => Buffer
  readonly decode: (document: Uint8Array) => KubeObject
}

const jsonFormat: Format = {
  name: 'JSON',
  walker: jsonWalker,
  encode: (object) => Buffer.from(printJson(object)),
  decode: (document) => parseJson(Buffer.from(document).toString()) as KubeObject,
}

export const protobufFormat: Format = {
  name: 'protobuf',
  walker: protobufWalker,
  encode: (object) => encodeProtobuf(object).bytes,
  decode: (document) => decodeProtobuf(document).object,
}

export const formats = [jsonFormat, protobufFormat]

/** Text that is equal for equal values, whatever the order of keys, and that knows `__proto__` from a prototype. */
export function stableText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join()}]`
  if (typeof value !== 'object' || value === null) return printJson(value ?? null)
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${stableText(item)}`).join()}}`
}
