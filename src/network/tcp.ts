/** The two questions a dial asks of the network. Both reject with the signal's reason once it aborts. */
import { lookup } from 'node:dns/promises'
import { connect, type Socket } from 'node:net'

export interface Network {
  /** The addresses of a name in the order in which they are to be tried. */
  resolve(name: string, signal: AbortSignal): Promise<readonly string[]>
  /** A connected socket that nobody has read from. */
  connect(ip: string, port: number, signal: AbortSignal): Promise<Socket>
}

export const systemNetwork: Network = { resolve: resolveName, connect: connectTcp }

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

function connectTcp(ip: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: ip, port, noDelay: true, keepAlive: true, allowHalfOpen: true })
    const giveUp = (): void => {
      socket.destroy()
      reject(signal.reason as Error)
    }
    if (signal.aborted) return giveUp()
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
