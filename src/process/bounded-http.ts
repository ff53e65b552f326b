/** An HTTP server beside the main work of a process, for few and brief requests: nobody can hold its places or fill its memory. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { holdPlaces } from './connection-places.ts'
import type { SafetyNet } from './safety-net.ts'

/** How often the limits of time are looked at, and so how far they may be exceeded. Node's own interval is longer than they are. */
const BOUNDED_HTTP_CHECK_MS = 500

export interface BoundedHttpLimits {
  readonly maxConnections: number
  readonly maxHeaders: number
  readonly maxHeaderBytes: number
  readonly maxTargetChars: number
  /** From the first byte of a request, or of its connection, to the end of its headers. */
  readonly headersTimeoutMs: number
  /** From the first byte of a request, or of its connection, to the end of its body. */
  readonly requestTimeoutMs: number
  /** How long a connection may wait for its next request. */
  readonly keepAliveTimeoutMs: number
  /** How long nothing may move on a connection, in either direction. */
  readonly idleTimeoutMs: number
}

export interface BoundedHttpOptions {
  readonly limits: BoundedHttpLimits
  readonly net: SafetyNet
  /** Hears of every connection that had to make room for a newer one. */
  readonly connectionCut?: () => void
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>
}

export function createBoundedHttp({ limits, net, connectionCut, serve }: BoundedHttpOptions): Server {
  const server = createServer({
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: BOUNDED_HTTP_CHECK_MS,
  })
  net.watchServer(server)
  // Node leaves out the headers beyond this number, without a word: one more shows that there were too many.
  server.maxHeadersCount = limits.maxHeaders + 1
  server.timeout = limits.idleTimeoutMs
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    net.guard(
      'request',
      () => void request.socket.destroy(),
    )(() => {
      // Nothing here reads a body: let it run out unseen.
      request.resume()
      const refusal = refusalOf(request, limits)
      if (refusal === undefined) return serve(request, response)
      response.writeHead(refusal.status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
      response.end(refusal.text)
    }),
  )
  holdPlaces(server, limits.maxConnections, connectionCut ?? (() => {}))
  return server
}

function refusalOf({ rawHeaders, url = '' }: IncomingMessage, limits: BoundedHttpLimits) {
  if (rawHeaders.length > limits.maxHeaders * 2)
    return { status: 431, text: `more than ${limits.maxHeaders} headers\n` }
  if (url.length > limits.maxTargetChars) return { status: 414, text: 'request target too long\n' }
  return undefined
}
