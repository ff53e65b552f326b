/** How the bytes of an answer are to be read: the walker, the framing of watches and the way to write a Status. */

import { printJson } from '../../kube/codec/json.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { type MediaType, MediaTypeError, parseMediaType } from '../../kube/media-type.ts'
import type { Status } from '../../kube/status/status.ts'
import { jsonWalker } from '../../kube/walker/json-walker.ts'
import { protobufWalker } from '../../kube/walker/protobuf-walker.ts'
import type { DocumentWalker } from '../../kube/walker/walker.ts'
import {
  encodeJsonLine,
  encodeLengthDelimited,
  type FrameDecoder,
  JsonLineDecoder,
  LengthDelimitedDecoder,
} from '../../kube/watch/frames.ts'

export interface BodyFormat {
  readonly walker: DocumentWalker
  frames(): FrameDecoder
  encodeFrame(event: Uint8Array): Uint8Array
  encodeStatus(status: Status): Uint8Array
}

const jsonFormat: BodyFormat = {
  walker: jsonWalker,
  frames: () => new JsonLineDecoder(),
  encodeFrame: encodeJsonLine,
  encodeStatus: (status) => Buffer.from(printJson(status)),
}

const protobufFormat: BodyFormat = {
  walker: protobufWalker,
  frames: () => new LengthDelimitedDecoder(),
  encodeFrame: encodeLengthDelimited,
  encodeStatus: (status) => encodeProtobuf({ ...status }).bytes,
}

const formats: ReadonlyMap<string, BodyFormat> = new Map([
  ['application/json', jsonFormat],
  ['application/vnd.kubernetes.protobuf', protobufFormat],
])

/** undefined for what filters cannot read, such as YAML. Parameters (`stream=watch`) change nothing about the bytes. */
export function bodyFormat(contentType: string): BodyFormat | undefined {
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
