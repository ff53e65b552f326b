/** What stands between an edge and its hub: proxies that are asked, balancers that look, and proxies that open TLS. */
import { createServer as createHttpServer, type IncomingMessage, request as sendRequest } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type TlsOptions } from 'node:tls'
import { listen } from '../../src/network/listen.ts'

export interface Middleman {
  readonly port: number
  /** What it was asked for, in order. */
  readonly log: string[]
  stop(): Promise<void>
}

async function run(server: Server, log: string[]): Promise<Middleman> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => {}).once('close', () => open.delete(socket))
  })
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 })
  const stop = async (): Promise<void> => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { port, log, stop }
}

/** Joins two connections; the end or failure of one is that of the other. */
function join(left: Duplex, right: Duplex): void {
  left.pipe(right)
  right.pipe(left)
  for (const [from, to] of [[left, right] as const, [right, left] as const]) {
    from.on('error', () => to.destroy()).once('close', () => to.destroy())
  }
}

export interface ConnectProxyOptions {
  /** Where every name it is asked for leads to. */
  readonly toPort: number
  readonly tls?: TlsOptions
  /** The one value of `Proxy-Authorization` that it takes. */
  readonly authorization?: string
  readonly status?: number
}

/** An HTTP proxy for CONNECT, by itself plain or over TLS. */
export function startConnectProxy({
  toPort,
  tls,
  authorization,
  status = 200,
}: ConnectProxyOptions): Promise<Middleman> {
  const log: string[] = []
  const server = tls === undefined ? createHttpServer() : createHttpsServer(tls)
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    log.push(`CONNECT ${request.url}`)
    const isAllowed = authorization === undefined || request.headers['proxy-authorization'] === authorization
    const answer = isAllowed ? status : 407
    if (answer !== 200) {
      client.end(`HTTP/1.1 ${answer} No\r\n\r\n`)
      return
    }
    const hub = connect({ port: toPort, host: '127.0.0.1' }, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      join(client, hub)
    })
  })
  return run(server, log)
}

/** A balancer that reads the name in the first record and passes all bytes on, as nginx does with `ssl_preread`. */
export function startNameRelay(portOf: (name: string | undefined) => number | undefined): Promise<Middleman> {
  const log: string[] = []
  const server = createServer((client) => {
    client.once('data', (hello: Buffer) => {
      const name = serverNameIn(hello)
      log.push(name ?? 'no name')
      const port = portOf(name)
      if (port === undefined) {
        client.destroy()
        return
      }
      const hub = connect({ port, host: '127.0.0.1' })
      hub.write(hello)
      join(client, hub)
    })
  })
  return run(server, log)
}

/** The host name in a TLS ClientHello that arrives in one piece (RFC 8446 section 4.1.2, RFC 6066 section 3). */
function serverNameIn(hello: Buffer): string | undefined {
  let at = 5 + 4 + 2 + 32
  at += 1 + hello.readUInt8(at)
  at += 2 + hello.readUInt16BE(at)
  at += 1 + hello.readUInt8(at)
  const end = at + 2 + hello.readUInt16BE(at)
  for (at += 2; at < end; at += 4 + hello.readUInt16BE(at + 2)) {
    if (hello.readUInt16BE(at) === 0) return hello.toString('latin1', at + 9, at + 9 + hello.readUInt16BE(at + 7))
  }
  return undefined
}

/** A proxy that opens TLS with a certificate of its own and speaks to the hub over another TLS connection, without one. */
export function startTlsOpeningProxy(toPort: number, tls: TlsOptions): Promise<Middleman> {
  const log: string[] = []
  const server = createHttpsServer({ ...tls, ALPNProtocols: ['http/1.1'] })
  server.on('upgrade', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    log.push(`${request.method} ${request.url}`)
    const outgoing = sendRequest({
      method: request.method,
      path: request.url,
      headers: request.headers,
      createConnection: () => connectTls({ port: toPort, host: '127.0.0.1', rejectUnauthorized: false }),
    })
    outgoing.on('upgrade', (answer, hub, hubHead) => {
      client.write(headOf(answer))
      client.write(hubHead)
      hub.write(head)
      join(client, hub)
    })
    outgoing.on('response', (answer) => {
      client.write(headOf(answer))
      answer.pipe(client)
    })
    outgoing.on('error', () => client.destroy())
    outgoing.end()
  })
  return run(server, log)
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}\r\n`] : []))
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`
}
