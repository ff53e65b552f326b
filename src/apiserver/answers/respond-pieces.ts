/**
 * Sends a body that is made piece by piece, as fast as the client reads it. What is short is sent as a whole, with its
 * length; what is long is compressed on the way where the client takes that.
 */

import { createGzip } from 'node:zlib'
import { drained } from '../../http/body/drained.ts'
import type { ResponseHeaders, ResponseStream } from '../../http/server/exchange.ts'
import { COMPRESSION_THRESHOLD_BYTES } from '../../kube/compression.ts'
import type { Turns } from '../../runtime/turns.ts'
import type { RequestContext } from '../request/handler.ts'
import { compressedHeaders, GZIP_LEVEL, respond, respondStream, wantsGzip } from './respond.ts'

/** About as much as a socket takes at once, and as much as makes compression worth it. */
const pieceBytes = COMPRESSION_THRESHOLD_BYTES

type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>

/** `bytes` is the length of the whole, where it is known. The pieces end early where the client has gone. */
export async function respondPieces(
  context: RequestContext,
  headers: ResponseHeaders,
  pieces: Pieces,
  turns: Turns,
  bytes?: number,
): Promise<void> {
  let stream: ResponseStream | undefined
  for await (const chunk of gathered(pieces)) {
    if (context.signal.aborted) throw context.signal.reason as Error
    if (stream === undefined && chunk.length < pieceBytes) {
      await respond(context, 200, headers, chunk)
      return
    }
    stream ??= wantsGzip(context) ? gzipStream(context, headers) : plainStream(context, headers, bytes)
    if (!stream.write(chunk)) await stream.drained()
    if (turns.isOver) await turns.next()
  }
  stream?.end()
}

/** Chunks of about one size; only the last one may be small. */
async function* gathered(pieces: Pieces): AsyncGenerator<Buffer, void, undefined> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const piece of pieces) {
    waiting.push(piece)
    bytes += piece.length
    if (bytes < pieceBytes) continue
    yield waiting.length === 1 ? piece : Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

function plainStream(context: RequestContext, headers: ResponseHeaders, bytes: number | undefined): ResponseStream {
  return respondStream(context, 200, bytes === undefined ? headers : { ...headers, 'content-length': String(bytes) })
}

/** Compresses on the threads of the runtime, one chunk at a time. */
function gzipStream(context: RequestContext, headers: ResponseHeaders): ResponseStream {
  const out = respondStream(context, 200, compressedHeaders({ ...context.responseHeaders, ...headers }))
  const gzip = createGzip({ level: GZIP_LEVEL })
  const closed = context.exchange.closed
  const release = (): void => void gzip.destroy()
  closed.addEventListener('abort', release, { once: true })
  gzip.on('data', (chunk: Buffer) => {
    if (out.write(chunk)) return
    gzip.pause()
    out.drained().then(() => gzip.resume(), release)
  })
  gzip.once('error', () => context.exchange.abort())
  gzip.once('end', () => {
    closed.removeEventListener('abort', release)
    out.end()
  })
  return {
    write: (chunk) => gzip.write(chunk),
    drained: () => drained(gzip, closed),
    end: () => void gzip.end(),
  }
}
