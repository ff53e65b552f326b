/** Builds and starts the Go program in `yamux-peer/`, and holds our end of the session with it. */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Carrier } from '../../src/tunnel/carrier.ts'
import { SessionDriver } from '../../src/tunnel/session-driver.ts'
import { SocketCarrier } from '../../src/tunnel/socket-carrier.ts'
import type { TunnelStream } from '../../src/tunnel/tunnel-stream.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import type { SessionError } from '../../src/tunnel/yamux/errors.ts'
import { removeFolder } from '../remove-folder.ts'
import { loudNet } from '../worlds/loud-net.ts'

export type BuiltPeer = { readonly program: string; remove(): void } | { readonly missing: string }

/** Builds the program into a directory of its own, or says why that cannot be. */
export function buildPeer(): BuiltPeer {
  const directory = mkdtempSync(join(tmpdir(), 'yamux-peer-'))
  const remove = (): void => removeFolder(directory)
  const program = join(directory, 'yamux-peer')
  const cwd = fileURLToPath(new URL('yamux-peer', import.meta.url))
  const { status, error, stderr } = spawnSync('go', ['build', '-o', program, '.'], { cwd, encoding: 'utf8' })
  if (status === 0) return { program, remove }
  remove()
  return { missing: `go build failed: ${(error?.message ?? stderr).split('\n')[0]}` }
}

export interface GoSession {
  readonly driver: SessionDriver
  readonly ended: Promise<SessionError>
  readonly goneAway: Promise<void>
  /** Opens a stream and writes a command line. */
  command(line: string): TunnelStream
  stop(): Promise<void>
}

interface PeerWish {
  readonly carrierOf?: (socket: Socket) => Carrier
  /** After so long the peer resets a stream of which it has ended its half, and we have not. */
  readonly closeTimeout?: string
}

/** Our end plays the other role. Streams the peer opens are echoed. */
export async function startSession(
  program: string,
  goRole: 'client' | 'server',
  { carrierOf = (socket) => new SocketCarrier(socket, 'tcp'), closeTimeout = '5m' }: PeerWish = {},
): Promise<GoSession> {
  const server = createServer({ noDelay: true })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const child = spawn(program, [goRole, `127.0.0.1:${port}`, closeTimeout], { stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const socket = await new Promise<Socket>((resolve) => server.once('connection', resolve))
  server.close()
  const ended = withResolvers<SessionError>()
  const goneAway = withResolvers<void>()
  const driver = new SessionDriver({
    net: loudNet(),
    role: goRole === 'client' ? 'server' : 'client',
    carrier: carrierOf(socket),
    clock: systemClock,
    budget: new Budget(),
    handler: {
      onStream: (stream) => {
        stream.accept()
        stream.on('error', () => {})
        stream.pipe(stream)
      },
      onGoAway: goneAway.resolve,
      onEnd: ended.resolve,
    },
  })
  const command = (line: string): TunnelStream => {
    const stream = driver.open()
    stream.write(`${line}\n`)
    return stream
  }
  const stop = async (): Promise<void> => {
    driver.close()
    child.kill('SIGKILL')
    await exited
    socket.destroy()
  }
  return { driver, ended: ended.promise, goneAway: goneAway.promise, command, stop }
}

export async function textOf(stream: TunnelStream): Promise<string> {
  return (await buffer(stream)).toString()
}

/** The bytes the peer's `send` and `open` use, too. */
export function pattern(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let index = 0; index < size; index++) bytes[index] = index * 7 + (index >> 8)
  return bytes
}

export function sumOf(bytes: Uint8Array): string {
  return `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let settle: (value: T) => void = () => {}
  const promise = new Promise<T>((resolve) => {
    settle = resolve
  })
  return { promise, resolve: (value) => settle(value) }
}
