/** HTTP/2 on one connection: few streams at a time, small windows, and an end when nothing is asked for a while. */
import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import type { HubConnection, OpenConnection } from './connection.ts'
import { headRefusal } from './head-refusal.ts'
import { type HubRequest, type HubResponse, refusalResponse, responseHeaders } from './http-message.ts'
import { type HttpSettings, MAX_HEADER_BYTES, MAX_HEADERS, pathOf } from './http-settings.ts'
import { readBodyWithin } from './request-body.ts'

/** Streams of one connection at a time: an edge asks for one thing after the other. */
export const MAX_STREAMS_PER_CONNECTION = 8
/** Streams a client may open on one connection per second, over time. Each costs a request's work, also if it is reset at once. */
const MAX_STREAMS_PER_SECOND = 20
/** Streams a client may open on one connection at once. */
export const MAX_STREAMS_AT_ONCE = 100
/** Memory of one connection's buffers and header tables, in megabytes, the unit of the library. */
const MAX_SESSION_MEGABYTES = 1
/** Streams a client may open beyond the allowed number, or break in the opening, before it is thrown out. */
const MAX_REJECTED_STREAMS = 32

type StreamEvent = [stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]]

export function serveHttp2(connection: HubConnection, settings: HttpSettings): OpenConnection {
  const { clock, times, logger, call, net } = settings
  const { socket } = connection
  const session = net.watch(openSession(connection), 'connection', () => socket.destroy())
  const calls = new Set<OpenConnection>()
  let streams = 0
  let isDraining = false
  const end = (): void => endSession(session, socket, settings)
  let cancelIdleLimit = clock.schedule(times.headMs, end)
  const opened = new TokenBucket(MAX_STREAMS_PER_SECOND, clock.monotonicMs(), MAX_STREAMS_AT_ONCE)
  session.on('stream', (...[stream, headers, , rawHeaders]: StreamEvent) => {
    net.watch(stream, 'stream', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
    stream.on('error', (error) => logger.debug({ err: error }, 'stream broke'))
    if (!opened.take(clock.monotonicMs())) {
      logger.debug({ address: connection.peer.address }, 'a client opens streams too fast; its connection was cut')
      session.destroy()
      return
    }
    cancelIdleLimit()
    streams++
    stream.once('close', () => {
      streams--
      if (streams > 0 || socket.destroyed) return
      if (isDraining) end()
      else cancelIdleLimit = clock.schedule(times.headMs, end)
    })
    const refusal = headRefusal(rawHeaders)
    if (refusal !== undefined) return send(stream, refusalResponse(refusal))
    if (call === undefined || headers[constants.HTTP2_HEADER_PATH] !== call.path) {
      const cut = (): void => stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      net.guard('request', cut)(() => serve(settings, connection, stream, headers))
      return
    }
    const open = call.handle(connection, stream, headers)
    calls.add(open)
    stream.once('close', () => calls.delete(open))
    if (isDraining) open.drain()
  })
  session.on('error', (error) => logger.debug({ err: error }, 'http/2 session broke'))
  socket.once('close', () => cancelIdleLimit())
  const drain = (): void => {
    isDraining = true
    for (const open of calls) open.drain()
    if (streams === 0) end()
    // A client that is told goodbye may leave its calls at once; those end by themselves.
    else if (calls.size === 0) session.close()
  }
  return { drain }
}

function openSession({ socket }: HubConnection): ServerHttp2Session {
  return performServerHandshake(socket, {
    maxHeaderListPairs: MAX_HEADERS,
    maxSessionMemory: MAX_SESSION_MEGABYTES,
    maxSessionRejectedStreams: MAX_REJECTED_STREAMS,
    settings: {
      maxConcurrentStreams: MAX_STREAMS_PER_CONNECTION,
      maxHeaderListSize: MAX_HEADER_BYTES,
      enablePush: false,
    },
  })
}

/** Says goodbye, so that the client knows that nothing it just sent was begun; one that does not leave is cut off. */
function endSession(session: ServerHttp2Session, socket: Socket, { clock, times }: HttpSettings): void {
  if (socket.destroyed) return
  socket.once(
    'close',
    clock.schedule(times.lingerMs, () => socket.destroy()),
  )
  session.close()
}

async function serve(
  settings: HttpSettings,
  connection: HubConnection,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> {
  const { clock, times, routes } = settings
  const gone = new AbortController()
  stream.once('close', () => gone.abort())
  const answer = await routes.answer(hubRequest(settings, connection, stream, headers, gone.signal))
  if (stream.destroyed || stream.closed) return
  stream.once(
    'close',
    clock.schedule(times.answerMs, () => stream.close(constants.NGHTTP2_CANCEL)),
  )
  send(stream, answer)
}

function hubRequest(
  { clock, times }: HttpSettings,
  { door, peer }: HubConnection,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  signal: AbortSignal,
): HubRequest {
  const limits = { timeoutMs: times.bodyMs, clock, declaredLength: headers['content-length'] }
  const body = (maxBytes: number): Promise<Buffer> => readBodyWithin(stream, { ...limits, maxBytes })
  const path = pathOf(headers[constants.HTTP2_HEADER_PATH] as string | undefined)
  const method = String(headers[constants.HTTP2_HEADER_METHOD] ?? '')
  return { method, path, headers, door, peer, signal, body }
}

function send(stream: ServerHttp2Stream, answer: HubResponse): void {
  stream.respond({ [constants.HTTP2_HEADER_STATUS]: answer.status, ...responseHeaders(answer) })
  stream.end(answer.body, () => {
    // The rest of a body that nobody wants: the protocol has a word for it, which leaves the answer whole.
    if (!stream.endAfterHeaders && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
  })
}
