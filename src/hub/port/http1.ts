/**
 * HTTP/1.1, one request for each connection: nobody loses a request to a connection that is just being closed, and nobody
 * sends requests ahead.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { parseInTurns } from '../../http/server/parsed-in-turns.ts'
import { Refusal } from '../refusal.ts'
import type { ConnectionHandler, HubConnection, OpenConnection } from './connection.ts'
import { headRefusal } from './head-refusal.ts'
import { type HubRequest, type HubResponse, refusalResponse, responseHeaders } from './http-message.ts'
import { type HttpSettings, MAX_HEADER_BYTES, MAX_HEADERS, pathOf } from './http-settings.ts'
import { readBodyWithin } from './request-body.ts'

interface State {
  readonly connection: HubConnection
  cancelHeadLimit(): void
  /** Whether there is an answer to wait for when the hub stops. */
  isBusy: boolean
  /** The connection as the program holds it that has taken it over. */
  upgraded?: OpenConnection
}

export function createHttp1(settings: HttpSettings): ConnectionHandler {
  const states = new WeakMap<Duplex, State>()
  const server = createHttpServer(settings, states)
  return (connection) => {
    const { socket } = connection
    const cancelHeadLimit = settings.clock.schedule(settings.times.headMs, () => socket.destroy())
    const state: State = { connection, cancelHeadLimit, isBusy: false }
    states.set(socket, state)
    socket.once('close', cancelHeadLimit)
    server.emit('connection', socket)
    parseInTurns(socket)
    return { drain: () => drain(state) }
  }
}

function drain({ upgraded, isBusy, connection }: State): void {
  if (upgraded !== undefined) upgraded.drain()
  else if (!isBusy) connection.socket.destroy()
}

function createHttpServer(settings: HttpSettings, states: WeakMap<Duplex, State>): Server {
  // Node's own time limits work only on servers that listen. Ours apply instead.
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, insecureHTTPParser: false })
  settings.net.watchServer(server)
  // Node leaves out the headers beyond this number, without a word: one more shows that there were too many.
  server.maxHeadersCount = MAX_HEADERS + 1
  server.maxRequestsPerSocket = 1
  server.timeout = 0
  server.keepAliveTimeout = 0
  server.on('request', (request, response) => {
    const state = states.get(request.socket)
    const cut = (): void => void request.socket.destroy()
    settings.net.watch(request, 'request', cut)
    settings.net.watch(response, 'request', cut)
    if (state === undefined) cut()
    else settings.net.guard('request', cut)(() => serve(settings, state, request, response))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseHead(error, socket, states.get(socket)))
  server.on('connect', (_request, socket) => {
    const advice = 'CONNECT is served by a front, not on this port: see --connect-front of the hub'
    sendBare(socket, refusalResponse(new Refusal('bad-request', advice)))
  })
  if (settings.upgrade !== undefined) {
    server.on('upgrade', (request, socket, head) => upgrade(settings, states.get(socket), request, head))
  }
  return server
}

async function serve(
  settings: HttpSettings,
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { clock, times, routes } = settings
  state.cancelHeadLimit()
  state.isBusy = true
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const refusal = headRefusal(request.rawHeaders)
  const answer =
    refusal === undefined
      ? await routes.answer(hubRequest(settings, state.connection, request, gone.signal))
      : refusalResponse(refusal)
  if (response.destroyed) return
  const cut = clock.schedule(times.answerMs, () => request.socket.destroy())
  response.once('close', cut)
  send(settings, request, response, answer)
}

function hubRequest(
  { clock, times }: HttpSettings,
  { door, peer }: HubConnection,
  request: IncomingMessage,
  signal: AbortSignal,
): HubRequest {
  const { method = '', headers, url } = request
  const limits = { timeoutMs: times.bodyMs, clock, declaredLength: headers['content-length'] }
  const body = (maxBytes: number): Promise<Buffer> => readBodyWithin(request, { ...limits, maxBytes })
  return { method, path: pathOf(url), headers, door, peer, signal, body }
}

/**
 * A client that still sends while the connection closes gets a reset, which may overtake the answer. So the answer is sent
 * whole, and the connection ended only when the client is done, or after a while.
 */
function send(
  { clock, times }: HttpSettings,
  request: IncomingMessage,
  response: ServerResponse,
  answer: HubResponse,
): void {
  response.writeHead(answer.status, { ...responseHeaders(answer), connection: 'close' })
  if (request.complete) {
    response.end(answer.body)
    return
  }
  response.write(answer.body)
  const end = (): void => {
    cancel()
    response.end()
  }
  const cancel = clock.schedule(times.lingerMs, end)
  request.once('end', end).once('close', cancel)
  request.resume()
}

/** The request cannot be read, so there is nothing to answer through but the bare connection. */
function refuseHead(error: NodeJS.ErrnoException, socket: Duplex, state: State | undefined): void {
  if (!socket.writable || error.code === 'ECONNRESET' || state?.isBusy !== false) {
    socket.destroy()
    return
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Refusal(
          'headers-too-large',
          `the headers are larger than the ${MAX_HEADER_BYTES} bytes that are allowed here`,
        )
      : new Refusal('bad-request', 'this is not an HTTP request')
  sendBare(socket, refusalResponse(refusal))
}

/** Answers where no parser stands between us and the connection any more, and ends it. */
export function sendBare(socket: Duplex, answer: HubResponse): void {
  const headers = Object.entries({ ...responseHeaders(answer), connection: 'close' })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n${lines}\r\n${answer.body}`, () =>
    socket.destroy(),
  )
}

function upgrade(settings: HttpSettings, state: State | undefined, request: IncomingMessage, head: Buffer): void {
  const { upgrade: route } = settings
  if (state === undefined || route === undefined) {
    request.socket.destroy()
    return
  }
  const refusal = headRefusal(request.rawHeaders)
  if (refusal !== undefined) {
    sendBare(request.socket, refusalResponse(refusal))
    return
  }
  if (pathOf(request.url) === route.path) {
    state.cancelHeadLimit()
    state.upgraded = route.handle(state.connection, request, head)
    return
  }
  sendBare(request.socket, refusalResponse(new Refusal('not-found', 'this path does not offer another protocol')))
}
