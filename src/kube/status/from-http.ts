/** The client side: the ApiError that an HTTP answer stands for, whether or not its body is a Status. */
import { MediaTypeError, parseMediaType } from '../media-type.ts'
import { type GenericResponse, genericServerResponse, withExplanation } from './generic-response.ts'
import type { GroupResource } from './group-names.ts'
import { readFailure } from './read-status.ts'
import { ApiError, type ApiFailure } from './status.ts'

/** A larger body is not read as a Status; its code still counts. */
export const MAX_STATUS_BODY_BYTES = 1024 * 1024
/** How much of a body that is not a Status is kept as the server's message. */
export const MAX_SERVER_MESSAGE_BYTES = 2048
/** No server gets to silence a client for longer than a day. */
export const MAX_RETRY_AFTER_SECONDS = 86_400

/** Header names in lower case, as node:http and undici deliver them. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface ResponseContext {
  readonly method: string
  readonly resource?: GroupResource | undefined
  readonly name?: string | undefined
  /** Decodes bodies that are not JSON, a protobuf Status above all; returns undefined for what it does not know. */
  readonly decodeBody?: (mediaType: string, body: Uint8Array) => unknown
}

export function fromHttp(code: number, headers: ResponseHeaders, body: Uint8Array, context: ResponseContext): ApiError {
  const retryAfterSeconds = readRetryAfter(headers)
  const request = requestOf(context)
  const encoding = contentEncoding(headers)
  const failure = encoding === '' ? readFailure(decode(headers, body, context), code) : undefined
  if (failure !== undefined) return new ApiError(withExplanation(withRetryAfter(failure, retryAfterSeconds), request))
  const serverMessage = encoding === '' ? serverWords(headers, body) : `content-encoding ${encoding}`
  return genericServerResponse({ ...request, code, serverMessage, retryAfterSeconds, unexpected: true })
}

/** The ApiError in a decoded object that came under the code of a success but says the opposite. */
export function failureInSuccess(object: unknown, context: ResponseContext): ApiError | undefined {
  const failure = readFailure(object, 500)
  return failure === undefined ? undefined : new ApiError(withExplanation(failure, requestOf(context)))
}

/** How the body is compressed; empty when it is not. */
export function contentEncoding(headers: ResponseHeaders): string {
  const encoding = firstHeader(headers, 'content-encoding').trim().toLowerCase()
  return encoding === 'identity' ? '' : encoding
}

function requestOf({
  method,
  resource,
  name = '',
}: ResponseContext): Pick<GenericResponse, 'method' | 'resource' | 'name'> {
  return { method, resource, name: resource === undefined ? undefined : name }
}

function serverWords(headers: ResponseHeaders, body: Uint8Array): string {
  const contentType = firstHeader(headers, 'content-type')
  const isText = contentType === '' || essence(contentType).startsWith('text/')
  return isText ? decodeText(body.subarray(0, MAX_SERVER_MESSAGE_BYTES)).trim() : 'unknown'
}

/** Keeps the header's wish in the Status, so that it is not lost when the error travels on. */
function withRetryAfter(failure: ApiFailure, retryAfterSeconds: number): ApiFailure {
  if (retryAfterSeconds === 0 || failure.details?.retryAfterSeconds !== undefined) return failure
  return { ...failure, details: { ...failure.details, retryAfterSeconds } }
}

function decode(headers: ResponseHeaders, body: Uint8Array, { decodeBody }: ResponseContext): unknown {
  const mediaType = essence(firstHeader(headers, 'content-type'))
  if (body.length === 0 || body.length > MAX_STATUS_BODY_BYTES) return undefined
  try {
    if (mediaType === 'application/json') return JSON.parse(decodeText(body)) as unknown
    return decodeBody?.(mediaType, body)
  } catch {
    return undefined // a body that cannot be read is as good as none: the code still tells what happened
  }
}

function essence(contentType: string): string {
  try {
    const { type, subtype } = parseMediaType(contentType)
    return `${type}/${subtype}`
  } catch (error) {
    if (error instanceof MediaTypeError) return ''
    throw error
  }
}

function readRetryAfter(headers: ResponseHeaders): number {
  const value = firstHeader(headers, 'retry-after')
  return /^\d{1,9}$/.test(value) ? Math.min(Number(value), MAX_RETRY_AFTER_SECONDS) : 0
}

function firstHeader(headers: ResponseHeaders, name: string): string {
  const value = headers[name]
  return (typeof value === 'string' ? value : value?.[0]) ?? ''
}

function decodeText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
