/**
 * How objects become bytes and back. The client speaks JSON by itself; other representations plug in here, and the
 * response's Content-Type decides which codec reads it.
 */
import type { KubeObject, WatchEvent, WatchEventType } from '../objects.ts'
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

export class BodyDecodeError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BodyDecodeError'
  }
}

const utf8 = new TextDecoder()
const eventTypes: ReadonlySet<string> = new Set<WatchEventType>(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'])

export const jsonCodec: BodyCodec = {
  mediaType: 'application/json',
  encodes: () => true,
  encode: (object) => Buffer.from(JSON.stringify(object)),
  decode: (body) => {
    const value = parseJson(body, 'the answer')
    if (!isObject(value)) throw new BodyDecodeError('the answer is JSON but not an object')
    return value
  },
  frameDecoder: (maxEventBytes) => new JsonLineDecoder(maxEventBytes),
  decodeEvent: (frame) => {
    const value = parseJson(frame, 'a watch event')
    if (!isObject(value) || !isObject(value['object'])) throw new BodyDecodeError('a watch event has no object')
    if (typeof value['type'] !== 'string') throw new BodyDecodeError('a watch event has no type')
    return { type: watchEventType(value['type']), object: value['object'] }
  },
}

function watchEventType(type: string): WatchEventType {
  if (!eventTypes.has(type)) throw new BodyDecodeError(`unknown watch event type ${JSON.stringify(type.slice(0, 32))}`)
  return type as WatchEventType
}

export function mediaTypeOf(contentType: string): string {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function parseJson(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new BodyDecodeError(`${what} is not valid JSON: ${reason}`, { cause })
  }
}

function isObject(value: unknown): value is KubeObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
