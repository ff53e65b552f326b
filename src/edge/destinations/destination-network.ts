/** What this machine's network is asked: names, connections, and which addresses are its own. */
import { lookup } from 'node:dns/promises'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'

export interface DestinationNetwork {
  /** The addresses of a name, in the order in which they are to be tried. */
  resolve(name: string): Promise<readonly string[]>
  /** A connected socket that nobody has read from. Rejects with the signal's reason once it aborts. */
  connect(ip: string, port: number, signal: AbortSignal): Promise<Socket>
}

export const systemNetwork: DestinationNetwork = {
  resolve: async (name) => (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
  connect: connectTcp,
}

export function addressesOfThisMachine(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address))
}

function connectTcp(ip: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: ip, port, noDelay: true, keepAlive: true, allowHalfOpen: true })
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
