/**
 * What lies behind every tunnel: one port where the first byte of a connection says what the rest of it is for, and one that
 * speaks first.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { serveCalls } from './rpc.ts'

/**
 * - `echo`: sends back what comes.
 * - `sink`: counts what comes.
 * - `source`: sends for ever.
 * - `deaf`: reads nothing any more.
 * - `sum`: when the client has ended its half, says how many bytes came.
 * - `leave`: ends its own half at once, and counts what still comes.
 */
export const WISHES = { echo: 'e', sink: 's', source: 'd', deaf: 'x', sum: 'h', leave: 'l' } as const
export type Wish = keyof typeof WISHES

export const GREETING = 'HELLO-FROM-THE-ORIGIN\n'
const FLOOD_CHUNK = Buffer.alloc(256 * 1024, 7)

export interface OriginCounts {
  readonly sunkBytes: number
  readonly lateBytes: number
}

const counts = { sunkBytes: 0, lateBytes: 0 }

export type OriginApi = {
  listen: () => Promise<{ port: number; greetingPort: number }>
  counts: () => OriginCounts
}

export function serveOrigin(): void {
  serveCalls({
    listen: async () => ({
      port: await listening(createServer({ allowHalfOpen: true, noDelay: true }, serveWish)),
      greetingPort: await listening(createServer({ noDelay: true }, greet)),
    }),
    counts: () => counts,
  } satisfies OriginApi)
}

export function flood(socket: Socket): void {
  const fill = (): void => {
    while (!socket.destroyed && socket.write(FLOOD_CHUNK)) {}
  }
  socket.on('drain', fill)
  fill()
}

function greet(socket: Socket): void {
  socket.on('error', () => {})
  socket.end(GREETING)
}

function serveWish(socket: Socket): void {
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
  socket.once('data', (first: Buffer) => {
    const wish = String.fromCharCode(first[0] ?? 0)
    if (wish === WISHES.echo) serveEcho(socket, first)
    else if (wish === WISHES.source) flood(socket)
    else if (wish === WISHES.deaf) socket.pause()
    else if (wish === WISHES.sum) serveSum(socket, first)
    else if (wish === WISHES.leave) serveLeave(socket)
    else socket.on('data', (chunk: Buffer) => (counts.sunkBytes += chunk.length))
  })
}

function serveEcho(socket: Socket, first: Buffer): void {
  socket.write(first)
  socket.on('data', (chunk: Buffer) => socket.write(chunk))
}

function serveSum(socket: Socket, first: Buffer): void {
  let bytes = first.length
  socket.removeAllListeners('end')
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length))
  socket.on('end', () => socket.end(`${bytes}\n`))
}

function serveLeave(socket: Socket): void {
  socket.end('gone\n')
  socket.on('data', (chunk: Buffer) => (counts.lateBytes += chunk.length))
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4096, resolve))
  return (server.address() as { port: number }).port
}
