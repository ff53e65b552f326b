/**
 * The client in Kubernetes protobuf: a third of the bytes of JSON, for built-in kinds. Custom resources have no protobuf
 * form: the server answers for them in JSON, and they are sent in JSON.
 */
import { decodeProtobuf, encodeProtobuf } from '../codec/object-codec.ts'
import { splitWatchEvent } from '../codec/watch-event.ts'
import type { KubeObject } from '../objects.ts'
import { findKind } from '../schema/schema.ts'
import { LengthDelimitedDecoder } from '../watch/frames.ts'
import type { BodyCodec } from './body-codec.ts'
import { markLostFields } from './lost-fields.ts'

export const protobufCodec: BodyCodec = {
  mediaType: 'application/vnd.kubernetes.protobuf',
  encodes: ({ apiVersion, kind }) => findKind(apiVersion ?? '', kind ?? '') !== undefined,
  encode: (object) => {
    const { bytes, dropped } = encodeProtobuf(object)
    // Silently sending less than the caller wrote would undo somebody's work.
    if (dropped.count > 0)
      throw new TypeError(`${object.kind} cannot be sent as protobuf: unknown ${dropped.names.join(', ')}`)
    return bytes
  },
  decode,
  frameDecoder: (maxEventBytes) => new LengthDelimitedDecoder(maxEventBytes),
  decodeEvent: (frame) => {
    const { type, object } = splitWatchEvent(frame)
    return { type, object: decode(object) }
  },
}

function decode(bytes: Uint8Array): KubeObject {
  const { object, dropped } = decodeProtobuf(bytes)
  if (dropped.count > 0) markLostFields(object, dropped.names)
  return object
}
