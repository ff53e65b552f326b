/** How the bytes of an answer are to be read and written: the walker, the framing of watches, a Status. */

import { printJson } from './codec/json.ts'
import { encodeProtobuf } from './codec/object-codec.ts'
import { type MediaType, MediaTypeError, parseMediaType } from './media-type.ts'
import type { Status } from './status/status.ts'
import { jsonWalker } from './walker/json-walker.ts'
import { protobufWalker } from './walker/protobuf-walker.ts'
import type { DocumentWalker } from './walker/walker.ts'
import {
  encodeJsonLine,
  encodeLengthDelimited,
  type FrameDecoder,
  JsonLineDecoder,
  LengthDelimitedDecoder,
} from './watch/frames.ts'

/** The encodings in which API servers send objects to programs. */
export type DocumentEncoding = 'json' | 'protobuf'

export interface DocumentFormat {
  readonly encoding: DocumentEncoding
  readonly walker: DocumentWalker
  frames(): FrameDecoder
  encodeFrame(event: Uint8Array): Uint8Array
  encodeStatus(status: Status): Uint8Array
}

const jsonFormat: DocumentFormat = {
  encoding: 'json',
  walker: jsonWalker,
  frames: () => new JsonLineDecoder(),
  encodeFrame: encodeJsonLine,
  encodeStatus: (status) => Buffer.from(printJson(status)),
}

const protobufFormat: DocumentFormat = {
  encoding: 'protobuf',
  walker: protobufWalker,
  frames: () => new LengthDelimitedDecoder(),
  encodeFrame: encodeLengthDelimited,
  encodeStatus: (status) => encodeProtobuf({ ...status }).bytes,
}

export const DOCUMENT_FORMATS: Readonly<Record<DocumentEncoding, DocumentFormat>> = {
  json: jsonFormat,
  protobuf: protobufFormat,
}

const formats: ReadonlyMap<string, DocumentFormat> = new Map([
  ['application/json', jsonFormat],
  ['application/vnd.kubernetes.protobuf', protobufFormat],
])

/** undefined for what has no walker, such as YAML. Parameters (`stream=watch`) change nothing about the bytes. */
export function documentFormat(contentType: string): DocumentFormat | undefined {
  const media = readMediaType(contentType)
  return media && formats.get(`${media.type}/${media.subtype}`)
}

function readMediaType(contentType: string): MediaType | undefined {
  try {
    return parseMediaType(contentType)
  } catch (error) {
    if (error instanceof MediaTypeError) return undefined
    throw error
  }
}
