/**
 * The wall to lean on: what Node can do without any multiplexing. A CONNECT front that makes a TLS connection for every stream,
 * and a far half that makes a TCP connection for each of those. It checks nothing and limits nothing.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { serveCalls } from './rpc.ts'

const headEnd = '\r\n\r\n'
const ignore = (): void => {}

export type BareApi = {
  /** The far half; its port. The destination is its own business here: all streams lead to one place. */
  far: (options: { cert: string; key: string; toPort: number }) => Promise<number>
  /** The front, on a unix socket. */
  near: (options: { path: string; toPort: number }) => Promise<void>
}

export function serveBare(): void {
  serveCalls({
    far: async ({ cert, key, toPort }) => {
      const server = createTlsServer({ cert, key, allowHalfOpen: true, noDelay: true }, (socket) => {
        join(socket, connect({ port: toPort, host: '127.0.0.1', noDelay: true, allowHalfOpen: true }))
      })
      await listening(server, { port: 0, host: '127.0.0.1', backlog: 4096 })
      return (server.address() as { port: number }).port
    },
    near: async ({ path, toPort }) => {
      const server = createServer({ allowHalfOpen: true }, (socket) => serveConnect(socket, toPort))
      await listening(server, { path, backlog: 4096 })
    },
  } satisfies BareApi)
}

function serveConnect(socket: Socket, toPort: number): void {
  socket.on('error', ignore)
  socket.once('data', (head: Buffer) => {
    if (!head.toString('latin1').endsWith(headEnd)) socket.destroy()
    socket.pause()
    // Known to `connect`, though not to its types.
    const halfOpen = { allowHalfOpen: true }
    const far = connectTls({ port: toPort, host: '127.0.0.1', rejectUnauthorized: false, ...halfOpen })
    far.setNoDelay(true)
    far.on('error', () => socket.destroy())
    far.once('secureConnect', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      join(socket, far)
    })
  })
}

function join(a: Socket, b: Socket): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on('error', ignore)
    from.pipe(to)
    from.on('close', () => (from.readableEnded ? to.end() : to.destroy()))
  }
}

async function listening(server: Server, options: object): Promise<void> {
  await new Promise<void>((resolve) => server.listen(options, resolve))
}
