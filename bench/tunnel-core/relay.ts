/**
 * The two halves of a relay, each in a thread of its own: TCP in, TLS between, TCP out. The bare one gives every TCP
 * connection a TLS connection; ours carries all of them in one session.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { connect as connectTls, createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../src/runtime/clock.ts'
import { relay } from '../../src/tunnel/relay.ts'
import { SessionDriver } from '../../src/tunnel/session-driver.ts'
import { SocketCarrier } from '../../src/tunnel/socket-carrier.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import { loudNet } from '../../test/worlds/loud-net.ts'

export interface Half {
  readonly kind: 'bare' | 'ours'
  readonly side: 'near' | 'far'
  /** Where this half sends what it gets: the far half's TLS port, or the target. */
  readonly toPort: number
  readonly tls: TlsOptions
}

const ignore = (): void => {}

export async function runHalf(half: Half): Promise<void> {
  const server = half.side === 'near' ? await nearHalf(half) : farHalf(half)
  server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as { port: number }).port))
}

function farHalf({ kind, toPort, tls }: Half): Server {
  const dial = (): Socket => connect({ port: toPort, host: '127.0.0.1', noDelay: true })
  return createTlsServer(tls, (socket) => {
    if (kind === 'bare') {
      const target = dial()
      pipeline(socket, target, socket, ignore)
      return
    }
    const driver = new SessionDriver({
      net: loudNet(),
      role: 'server',
      carrier: new SocketCarrier(socket, 'tls'),
      clock: systemClock,
      budget: new Budget(),
      handler: {
        onStream: (stream) => {
          stream.accept()
          void relay(stream, dial())
        },
        onEnd: ignore,
      },
    })
    socket.once('close', () => driver.close())
  })
}

async function nearHalf({ kind, toPort }: Half): Promise<Server> {
  const dial = (): TLSSocket => connectTls({ port: toPort, host: '127.0.0.1', rejectUnauthorized: false })
  if (kind === 'bare') {
    return createServer({ noDelay: true }, (socket) => pipeline(socket, dial(), socket, ignore))
  }
  const carrier = dial()
  await new Promise((resolve) => carrier.once('secureConnect', resolve))
  const driver = new SessionDriver({
    net: loudNet(),
    role: 'client',
    carrier: new SocketCarrier(carrier, 'tls'),
    clock: systemClock,
    budget: new Budget(),
    handler: { onStream: (stream) => stream.destroy(), onEnd: ignore },
  })
  return createServer({ noDelay: true }, (socket) => void relay(driver.open(), socket))
}

export function halfOfThisThread(): Half {
  return workerData as Half
}
