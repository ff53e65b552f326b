/** A gRPC call over a connection of its own, as a client. */
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { CallStream } from './message-stream.ts'
import { errorOfTrailers, GRPC_CONTENT_TYPE, GrpcCode, GrpcError } from './status.ts'

/** What the far end may have under way towards us: the default of the protocol would limit a link of 50 ms to 1.3 MB/s. */
export const GRPC_WINDOW_BYTES = 4 * 1024 * 1024

export interface ClientCall {
  readonly session: ClientHttp2Session
  readonly stream: CallStream
  /** The initial metadata of the server. */
  readonly headers: IncomingHttpHeaders
}

export interface ClientCallOptions {
  /** Connected, and decrypted on our side. */
  readonly socket: Duplex
  /** `host:port`, as the server knows itself. */
  readonly authority: string
  readonly scheme: 'http' | 'https'
  readonly path: string
  readonly metadata: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Resolves with the server's initial metadata. Rejects, with everything closed, where it does not answer the call. */
export async function startCall(options: ClientCallOptions): Promise<ClientCall> {
  const { socket, authority, scheme, path, metadata, signal } = options
  const session = connect(`${scheme}://${authority}`, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: GRPC_WINDOW_BYTES },
  })
  session.once('connect', () => session.setLocalWindowSize(GRPC_WINDOW_BYTES))
  const destroy = (): void => session.destroy()
  signal.addEventListener('abort', destroy, { once: true })
  try {
    signal.throwIfAborted()
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: path,
      'content-type': GRPC_CONTENT_TYPE,
      te: 'trailers',
      ...metadata,
    })
    const headers = await initialMetadata(session, stream)
    return { session, stream, headers }
  } catch (error) {
    session.destroy()
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', destroy)
  }
}

function initialMetadata(session: ClientHttp2Session, stream: CallStream): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    const broke = (error?: Error): void =>
      reject(error ?? new GrpcError(GrpcCode.unavailable, 'the connection ended before the call was answered'))
    session.once('error', broke)
    stream.once('error', broke)
    stream.once('close', () => broke())
    stream.once('response', (headers: IncomingHttpHeaders) => {
      session.off('error', broke)
      stream.off('error', broke)
      // Without listeners an error would end the process; whoever takes the call over adds its own.
      session.on('error', () => {})
      const refusal = refusalIn(headers)
      if (refusal === undefined) resolve(headers)
      else {
        stream.on('error', () => {})
        reject(refusal)
      }
    })
  })
}

/** A server that refuses a call at once puts the status into its only headers. */
function refusalIn(headers: IncomingHttpHeaders): Error | undefined {
  const status = headers[constants.HTTP2_HEADER_STATUS]
  if (Number(status) !== 200)
    return new GrpcError(GrpcCode.unknown, `HTTP status ${String(status)} instead of an answer`)
  const type = headers['content-type'] ?? ''
  if (!type.startsWith(GRPC_CONTENT_TYPE))
    return new GrpcError(GrpcCode.unknown, `content type ${type || 'missing'} instead of ${GRPC_CONTENT_TYPE}`)
  return headers['grpc-status'] === undefined ? undefined : errorOfTrailers(headers)
}
