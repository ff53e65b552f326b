/** An object as the bytes of a response body. */
import { stringify } from 'yaml'
import { printJson } from '../../kube/codec/json.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Encoding } from '../../kube/representation.ts'

export function encodeBody(object: KubeObject, encoding: Encoding, pretty: boolean): Buffer {
  if (encoding === 'protobuf') return encodeProtobuf(object).bytes
  if (encoding === 'yaml') return Buffer.from(toYaml(object))
  return Buffer.from(pretty ? prettyJson(object) : `${printJson(object)}\n`)
}

/** Indented JSON ends without a newline, compact JSON with one: so does the real one. */
function prettyJson(object: KubeObject): string {
  return JSON.stringify(JSON.parse(printJson(object)), null, 2)
}

/** API servers make YAML from JSON, with all keys in alphabetical order. In YAML 1.1 a bare `no` is false: it is quoted. */
function toYaml(object: KubeObject): string {
  return stringify(JSON.parse(printJson(object)), {
    sortMapEntries: true,
    lineWidth: 0,
    indentSeq: false,
    version: '1.1',
  })
}
