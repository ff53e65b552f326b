/** Objects between plain values, JSON text and protobuf. */
export { MAX_MESSAGE_DEPTH } from './decode.ts'
export { type DroppedFields, MAX_REPORTED_FIELDS } from './dropped-fields.ts'
export { MAX_JSON_DEPTH, parseJson, printJson, RawJson } from './json.ts'
export {
  type DecodedMessage,
  type DecodedObject,
  decodeMessage,
  decodeProtobuf,
  type EncodedObject,
  encodeMessage,
  encodeProtobuf,
} from './object-codec.ts'
export { canonicalQuantity, MAX_QUANTITY_CHARACTERS } from './quantity.ts'
export {
  decodeWatchEvent,
  type EncodedWatchEvent,
  encodeWatchEvent,
  joinWatchEvent,
  splitWatchEvent,
} from './watch-event.ts'
