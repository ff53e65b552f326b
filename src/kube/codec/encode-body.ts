/** An object as the bytes of a response body. */
import { stringify } from 'yaml'
import type { KubeObject } from '../objects.ts'
import type { Encoding } from '../representation.ts'
import { parseJson, printJson } from './json.ts'
import { encodeProtobuf } from './object-codec.ts'

/** How a body is written: compact JSON, the same with indentation, or another encoding. */
export type BodyForm = 'compact' | 'indented' | 'yaml' | 'protobuf'

export function bodyForm(encoding: Encoding, pretty: boolean): BodyForm {
  if (encoding !== 'json') return encoding
  return pretty ? 'indented' : 'compact'
}

export function encodeBody(object: KubeObject, encoding: Encoding, pretty: boolean): Buffer {
  if (encoding === 'protobuf') return encodeProtobuf(object).bytes
  return encodeJson(printJson(object), bodyForm(encoding, pretty))
}

/** A body from an object that has been printed as JSON. */
export function encodeJson(json: string, form: BodyForm): Buffer {
  if (form === 'protobuf') return encodeProtobuf(parseJson(json) as KubeObject).bytes
  if (form === 'yaml') return Buffer.from(toYaml(JSON.parse(json)))
  // Indented JSON ends without a newline, compact JSON with one: so does the real one.
  return Buffer.from(form === 'indented' ? toIndentedJson(JSON.parse(json)) : `${json}\n`)
}

function toIndentedJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** API servers make YAML from JSON, with all keys in alphabetical order. In YAML 1.1 a bare `no` is false: it is quoted. */
function toYaml(value: unknown): string {
  return stringify(value, { sortMapEntries: true, lineWidth: 0, indentSeq: false, version: '1.1' })
}
