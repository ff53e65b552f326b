/**
 * HTTP on connections that are already decrypted. All waiting is limited by us, on one clock and alike for both versions of
 * the protocol: for the head of a request, for its body, for the route, and for the client to take the answer.
 */
import type { ConnectionHandler } from './connection.ts'
import { HTTP_TIMES, type HttpServiceOptions, type HttpSettings } from './http-settings.ts'
import { createHttp1 } from './http1.ts'
import { serveHttp2 } from './http2.ts'

/** The handler for `HubListener`; any number of ports may share it. */
export function createHttpService(options: HttpServiceOptions): ConnectionHandler {
  const settings: HttpSettings = { times: HTTP_TIMES, ...options }
  const http1 = createHttp1(settings)
  return (connection) =>
    connection.socket.alpnProtocol === 'h2' ? serveHttp2(connection, settings) : http1(connection)
}
