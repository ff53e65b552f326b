/** Sends what a handler decided: the headers of the request's life, its warnings, compression where it pays. */

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ResponseHeaders, ResponseStream } from '../../http/server/exchange.ts'
import { legalHeaders } from '../../http/server/legal-headers.ts'
import { encodeBody } from '../../kube/codec/encode-body.ts'
import { acceptsGzip, COMPRESSION_THRESHOLD_BYTES } from '../../kube/compression.ts'
import { negotiateErrorOutput } from '../../kube/negotiation.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { MEDIA_TYPES } from '../../kube/representation.ts'
import { toHttp } from '../../kube/status/to-http.ts'
import type { RequestContext } from '../request/handler.ts'

/** All warnings of one response together; beyond it each is cut to `MAX_CUT_WARNING_CHARACTERS`. */
const MAX_WARNING_CHARACTERS = 4096
const MAX_CUT_WARNING_CHARACTERS = 256

const compress = promisify(gzip)
/** Level 4 is what API servers use: most of the gain for a third of the time. */
export const GZIP_LEVEL = 4

export async function respond(
  context: RequestContext,
  status: number,
  headers: ResponseHeaders,
  body: Buffer,
): Promise<void> {
  const all = headersOf(context, headers)
  if (body.length <= COMPRESSION_THRESHOLD_BYTES || !wantsGzip(context)) {
    send(context, status, all, body)
    return
  }
  send(context, status, compressedHeaders(all), await compress(body, { level: GZIP_LEVEL }))
}

export function compressedHeaders(headers: ResponseHeaders): ResponseHeaders {
  const vary = headers['vary'] === undefined ? 'Accept-Encoding' : `${String(headers['vary'])}, Accept-Encoding`
  return { ...headers, 'content-encoding': 'gzip', vary }
}

function send(context: RequestContext, status: number, headers: ResponseHeaders, body: Buffer): void {
  context.answer = { status, bodyBytes: body.length }
  context.exchange.respond(status, headers, body)
}

export function respondStream(context: RequestContext, status: number, headers: ResponseHeaders): ResponseStream {
  const stream = context.exchange.stream(status, headersOf(context, headers))
  context.answer = { status }
  context.onStream?.()
  return stream
}

/** Made from what clients and stored objects brought, too: whatever that was, the answer can be sent. */
function headersOf(context: RequestContext, headers: ResponseHeaders): ResponseHeaders {
  return legalHeaders({ ...context.responseHeaders, ...headers, ...warningHeaders(context) })
}

export function wantsGzip({ exchange }: RequestContext): boolean {
  return acceptsGzip(exchange.headers.get('accept-encoding') ?? '')
}

function warningHeaders({ warnings }: RequestContext): ResponseHeaders {
  if (warnings.size === 0) return {}
  const texts = [...warnings]
  const total = texts.reduce((sum, text) => sum + text.length, 0)
  const cut = total > MAX_WARNING_CHARACTERS ? texts.map((text) => text.slice(0, MAX_CUT_WARNING_CHARACTERS)) : texts
  return { warning: cut.map((text) => `299 - "${escapeQuoted(text)}"`) }
}

/** Header values hold printable ASCII only; anything else in a warning would break the response. */
function escapeQuoted(text: string): string {
  return text.replace(/[\\"]/g, '\\$&').replace(/[^\x20-\x7e]/g, ' ')
}

/** Sends an error as a Status, in the encoding that the client negotiated. */
export async function respondError(context: RequestContext, error: unknown): Promise<void> {
  const { code, headers, status } = toHttp(error)
  context.failure = status
  const { encoding, pretty } = negotiateErrorOutput({
    accept: context.exchange.headers.get('accept'),
    userAgent: context.exchange.headers.get('user-agent'),
    pretty: context.query.first('pretty'),
    stream: false,
  })
  const body = encodeBody(status as unknown as KubeObject, encoding, pretty)
  await respond(context, code, { ...headers, 'content-type': MEDIA_TYPES[encoding] }, body)
}
