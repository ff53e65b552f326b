/**
 * An HTTP/1.1 upgrade at the API server, on a connection of its own: SPDY/3.1 and WebSocket for exec, attach and
 * port-forward. Whatever is not a 101 is an ordinary answer, as for a caller who may not.
 */
import { type ClientRequest, type IncomingMessage, request as startRequest } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Duplex } from 'node:stream'
import { ReadableSource } from '../../http/body/readable-source.ts'
import { headerListOf } from '../../http/server/exchange.ts'
import type { SecuredConnection } from './api-server-connection.ts'
import { MAX_HEADER_BLOCK_BYTES } from './h2-connection.ts'
import { addPairs, type HeaderRecord } from './header-pairs.ts'
import type { UpgradeAnswer, UpstreamAnswer, UpstreamError, UpstreamRequest } from './upstream.ts'
import { brokenBy } from './upstream-error.ts'

/** Rejects with an `UpstreamError`, or with the reason of the request's signal; the connection is then ended. */
export function upgradeOn(
  { socket, whyLost }: SecuredConnection,
  serverName: string,
  request: UpstreamRequest,
): Promise<UpstreamAnswer | UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    const { signal } = request
    const onAbort = (): void => {
      socket.destroy()
      reject(signal.reason)
    }
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    socket.once('close', () => signal.removeEventListener('abort', onAbort))
    const broken = (error?: Error): UpstreamError => brokenBy(whyLost() ?? error)
    const outgoing = start(socket, serverName, request)
    outgoing.once('upgrade', (message: IncomingMessage, _socket: Duplex, head: Buffer) => {
      if (head.length > 0) socket.unshift(head)
      resolve({ status: 101, headers: headerListOf(message.rawHeaders), stream: socket })
    })
    outgoing.once('response', (message) => resolve(answerOf(message, socket, broken)))
    outgoing.on('error', (error) => {
      socket.destroy()
      reject(broken(error))
    })
    outgoing.once('close', () => reject(broken()))
    sendBody(outgoing, request)
  })
}

function start(socket: Duplex, serverName: string, { method, target, headers }: UpstreamRequest): ClientRequest {
  const record = Object.create(null) as HeaderRecord
  record['host'] = isIPv6(serverName) ? `[${serverName}]` : serverName
  const outgoing = startRequest({
    method,
    path: target,
    headers: addPairs(record, headers),
    createConnection: () => socket,
    maxHeaderSize: MAX_HEADER_BLOCK_BYTES,
  })
  // Their bytes are limited. Node would also leave out those beyond a number, without a word.
  outgoing.maxHeadersCount = 0
  return outgoing
}

function sendBody(outgoing: ClientRequest, { body }: UpstreamRequest): void {
  if (body === undefined) {
    outgoing.end()
    return
  }
  outgoing.on('drain', () => body.resume())
  outgoing.once('close', () => body.cancel())
  body.read({
    data: (piece) => {
      if (!outgoing.write(piece)) body.pause()
    },
    end: () => void outgoing.end(),
    broken: () => void outgoing.destroy(new Error('the body of the request ended before it was complete')),
  })
}

function answerOf(message: IncomingMessage, socket: Duplex, broken: () => UpstreamError): UpstreamAnswer {
  message.once('close', () => socket.destroy())
  const body = new ReadableSource(message, {
    broken: brokenBy,
    fault: () => (message.complete ? undefined : broken()),
    cancel: () => void socket.destroy(),
  })
  return {
    status: message.statusCode ?? 0,
    headers: headerListOf(message.rawHeaders),
    body,
    trailers: () => headerListOf(message.rawTrailers),
  }
}
