/** Our sessions on sockets of this machine, towards the HTTP/2 of Node. */
import { once } from 'node:events'
import http2, { type ClientHttp2Session, type ClientHttp2Stream, type Http2Server } from 'node:http2'
import net, { type AddressInfo, type Socket } from 'node:net'
import type { Http2Session } from '../../../src/http/http2/session.ts'
import type { SessionEvents, SessionOptions } from '../../../src/http/http2/session-options.ts'
import { SocketTransport } from '../../../src/http/http2/socket-transport.ts'
import type { Http2Stream, StreamHandler } from '../../../src/http/http2/stream.ts'
import type { Http2Error } from '../../../src/http/http2/wire.ts'
import { defaultOptions } from '../../worlds/http2-pair.ts'

const open: { destroy(): unknown }[] = []
const servers: { close(): unknown }[] = []

export function closeAll(): void {
  for (const one of open.splice(0)) one.destroy()
  for (const server of servers.splice(0)) server.close()
}

/** One stream of ours: gathers what comes and sends what it is given as fast as it may. */
export class OurStream implements StreamHandler {
  stream: Http2Stream | undefined
  status = 0
  fields: readonly string[] = []
  readonly pieces: Buffer[] = []
  trailers: readonly string[] | undefined
  #rest: Buffer = Buffer.alloc(0)
  #trailersToSend: readonly string[] = []
  #isSending = false
  #onHead = (): void => {}
  #onClose = (): void => {}
  readonly headed = new Promise<void>((resolve) => {
    this.#onHead = resolve
  })
  readonly closed = new Promise<void>((resolve) => {
    this.#onClose = resolve
  })
  ended: () => void = () => {}
  arrived: () => void = () => {}

  get body(): Buffer {
    return Buffer.concat(this.pieces)
  }

  get resetCode(): number | undefined {
    return this.stream?.resetCode
  }

  send(body: Buffer, trailers: readonly string[] = []): void {
    this.#rest = body
    this.#trailersToSend = trailers
    this.#isSending = true
    this.onDrain()
  }

  onHead(fields: readonly string[], status: number): void {
    this.fields = fields
    this.status = status
    this.#onHead()
  }

  onData(piece: Buffer): void {
    this.pieces.push(piece)
    this.arrived()
  }

  onEnd(trailers: readonly string[]): void {
    this.trailers = trailers
    this.ended()
  }

  onDrain(): void {
    if (!this.#isSending) return
    while (this.#rest.length > 0) {
      const piece = this.#rest.subarray(0, 50_000)
      this.#rest = this.#rest.subarray(piece.length)
      if (!this.stream?.write(piece)) return
    }
    this.#isSending = false
    this.stream?.end(this.#trailersToSend)
  }

  onSent(): void {}

  onClose(): void {
    this.#onClose()
  }
}

export interface OurEnd {
  readonly session: Http2Session
  readonly socket: Socket
  readonly streams: OurStream[]
  readonly failures: Http2Error[]
  readonly pongs: string[]
  readonly wentAway: Promise<void>
  readonly limited: Promise<number>
}

type Serve = (stream: OurStream, fields: readonly string[]) => void

function ourEnd(socket: Socket, role: 'client' | 'server', options: Partial<SessionOptions>, serve: Serve): OurEnd {
  const [streams, failures, pongs]: [OurStream[], Http2Error[], string[]] = [[], [], []]
  let onGoAway = (): void => {}
  let onPeerLimit: (streams: number) => void = () => {}
  const wentAway = new Promise<void>((resolve) => {
    onGoAway = resolve
  })
  const limited = new Promise<number>((resolve) => {
    onPeerLimit = resolve
  })
  open.push(socket)
  socket.on('error', () => {})
  const all = { ...defaultOptions, maxHeadBytes: 1024 * 1024, nowMs: () => performance.now(), ...options, role }
  const events: SessionEvents = {
    onStream: (stream, fields) => {
      const ours = new OurStream()
      ours.stream = stream
      streams.push(ours)
      // When the stream knows its handler.
      process.nextTick(serve, ours, fields)
      return ours
    },
    onPeerLimit,
    onGoAway,
    onPong: (payload) => void pongs.push(payload.toString('latin1')),
    onFailure: (error) => {
      failures.push(error)
      // Behind what is still to be sent.
      setImmediate(() => socket.destroySoon())
    },
  }
  const { session } = new SocketTransport(socket, all, events, (action) => void action())
  return { session, socket, streams, failures, pongs, wentAway, limited }
}

export async function nodeServer(server: Http2Server): Promise<number> {
  servers.push(server)
  server.on('session', (session) => {
    open.push(session)
    session.on('error', () => {})
  })
  server.on('stream', (stream) => stream.on('error', () => {}))
  server.on('sessionError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Our client, connected to a port. */
export async function ourClient(port: number, options: Partial<SessionOptions> = {}): Promise<OurEnd> {
  const socket = net.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return ourEnd(socket, 'client', options, () => {})
}

export function ask(end: OurEnd, fields: readonly string[], body?: Buffer, trailers?: readonly string[]): OurStream {
  const ours = new OurStream()
  end.streams.push(ours)
  ours.stream = end.session.open(fields, ours, body === undefined)
  if (body !== undefined) ours.send(body, trailers)
  return ours
}

/** Our server, and a client of Node that is connected to it. */
export async function nodeClient(
  serve: Serve,
  options: Partial<SessionOptions> = {},
  settings: http2.Settings = {},
): Promise<{ client: ClientHttp2Session; end: OurEnd }> {
  const server = net.createServer()
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { settings })
  open.push(client)
  client.on('error', () => {})
  const [socket] = await accepted
  return { client, end: ourEnd(socket, 'server', options, serve) }
}

export interface NodeAnswer {
  readonly headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader
  readonly body: Buffer
  readonly trailers: http2.IncomingHttpHeaders | undefined
  readonly resetCode: number
  readonly informed: number[]
}

/** All of an answer that Node's client gets. */
export async function answerOf(stream: ClientHttp2Stream): Promise<NodeAnswer> {
  let headers: NodeAnswer['headers'] = {}
  let trailers: http2.IncomingHttpHeaders | undefined
  const pieces: Buffer[] = []
  const informed: number[] = []
  stream.on('headers', (early) => void informed.push(early[':status'] ?? 0))
  stream.on('response', (given) => {
    headers = given
  })
  stream.on('trailers', (given) => {
    trailers = given
  })
  stream.on('data', (piece: Buffer) => void pieces.push(piece))
  stream.on('error', () => {})
  if (!stream.closed || !stream.destroyed) await new Promise((resolve) => stream.once('close', resolve))
  return { headers, body: Buffer.concat(pieces), trailers, resetCode: stream.rstCode ?? 0, informed }
}
