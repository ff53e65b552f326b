/**
 * How objects become bytes and back. The client speaks JSON by itself; other representations plug in here, and the
 * response's Content-Type decides which codec reads it.
 */
import { parseJson, printJson } from '../codec/json.ts'
import { isEventType } from '../codec/watch-event.ts'
import type { KubeObject, WatchEvent } from '../objects.ts'
import { type FrameDecoder, JsonLineDecoder } from '../watch/frames.ts'

export interface BodyCodec {
  /** The media type without parameters, in lower case: what the codec reads and writes. */
  readonly mediaType: string
  /** Whether objects of this kind can be written; those that cannot are sent as JSON. */
  encodes(object: KubeObject): boolean
  encode(object: KubeObject): Uint8Array
  /** Throws an error that says what is wrong with the bytes. */
  decode(body: Uint8Array, contentType: string): KubeObject
  frameDecoder(maxEventBytes: number): FrameDecoder
  decodeEvent(frame: Uint8Array): WatchEvent
}

/** The server answered, but not with what we can read. */
export class BodyDecodeError extends Error {
  override readonly name = 'BodyDecodeError'
}

const utf8 = new TextDecoder()

export const jsonCodec: BodyCodec = {
  mediaType: 'application/json',
  encodes: () => true,
  encode: (object) => Buffer.from(printJson(object)),
  decode: (body) => {
    const value = readJson(body, 'the answer')
    if (!isObject(value)) throw new BodyDecodeError('the answer is JSON but not an object')
    return value
  },
  frameDecoder: (maxEventBytes) => new JsonLineDecoder(maxEventBytes),
  decodeEvent: (frame) => {
    const value = readJson(frame, 'a watch event')
    if (!isObject(value) || !isObject(value['object'])) throw new BodyDecodeError('a watch event has no object')
    const { type, object } = value
    if (typeof type !== 'string') throw new BodyDecodeError('a watch event has no type')
    if (!isEventType(type)) throw new BodyDecodeError(`unknown watch event type ${JSON.stringify(type.slice(0, 32))}`)
    return { type, object }
  },
}

export function mediaTypeOf(contentType: string): string {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function readJson(bytes: Uint8Array, what: string): unknown {
  try {
    return parseJson(utf8.decode(bytes))
  } catch (cause) {
    throw new BodyDecodeError(`${what}: ${(cause as Error).message}`, { cause })
  }
}

function isObject(value: unknown): value is KubeObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
