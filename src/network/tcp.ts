/** The two questions a dial asks of the network, and TCP connections. All reject with the signal's reason once it aborts. */
import { lookup } from 'node:dns/promises'
import { connect, type Socket } from 'node:net'

export interface Network {
  /** The addresses of a name in the order in which they are to be tried. */
  resolve(name: string, signal: AbortSignal): Promise<readonly string[]>
  /** A connected socket that nobody has read from. */
  connect(ip: string, port: number, signal: AbortSignal): Promise<Socket>
}

export const systemNetwork: Network = {
  resolve: resolveName,
  connect: (host, port, signal) => connectTcp({ host, port }, signal, { keepAliveMs: 0, allowHalfOpen: true }),
}

export interface TcpOptions {
  /** Idle time before the kernel asks whether the far machine is still there; 0 is the time it would take anyway. Never where it is absent. */
  readonly keepAliveMs?: number
  /** Whether this side may go on to write when the other has ended. */
  readonly allowHalfOpen?: boolean
}

/** A connected socket that nobody has read from. */
export function connectTcp(
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
  { keepAliveMs, allowHalfOpen = false }: TcpOptions = {},
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const keepAlive = keepAliveMs !== undefined
    const socket = connect({
      host,
      port,
      noDelay: true,
      keepAlive,
      keepAliveInitialDelay: keepAliveMs ?? 0,
      allowHalfOpen,
    })
    const giveUp = (): void => {
      socket.destroy()
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', giveUp, { once: true })
    // Stays: the socket may fail between its connection and whoever takes it over.
    socket.on('error', (error) => {
      signal.removeEventListener('abort', giveUp)
      reject(error)
    })
    socket.once('connect', () => {
      signal.removeEventListener('abort', giveUp)
      resolve(socket)
    })
  })
}

function resolveName(name: string, signal: AbortSignal): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    // The question itself cannot be taken back; its answer is just not waited for.
    const giveUp = (): void => reject(signal.reason as Error)
    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    lookup(name, { all: true, order: 'verbatim' })
      .then((found) => resolve(found.map(({ address }) => address)), reject)
      .finally(() => signal.removeEventListener('abort', giveUp))
  })
}
