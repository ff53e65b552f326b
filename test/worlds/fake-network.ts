/** A network in memory for dials: names with addresses, and addresses that answer, refuse, fail or stay silent. */
import { Socket } from 'node:net'
import type { Network } from '../../src/network/tcp.ts'

/** `up` connects, `silent` never answers, anything else is the code of a system error. */
export type Behaviour = 'up' | 'silent' | 'ECONNREFUSED' | 'EHOSTUNREACH' | 'EMFILE' | 'ETIMEDOUT'

export class FakeNetwork implements Network {
  readonly names = new Map<string, readonly string[] | 'silent'>()
  /** By `ip:port`; what is not there refuses. */
  readonly addresses = new Map<string, Behaviour>()
  /** Every connection asked for, in order. */
  readonly asked: string[] = []
  readonly sockets: Socket[] = []

  async resolve(name: string, signal: AbortSignal): Promise<readonly string[]> {
    const found = this.names.get(name)
    if (found === 'silent') return await aborted(signal)
    if (found === undefined) throw systemError('ENOTFOUND')
    return found
  }

  async connect(ip: string, port: number, signal: AbortSignal): Promise<Socket> {
    this.asked.push(`${ip}:${port}`)
    const behaviour = this.addresses.get(`${ip}:${port}`) ?? 'ECONNREFUSED'
    if (behaviour === 'silent') return await aborted(signal)
    if (behaviour !== 'up') throw systemError(behaviour)
    const socket = new Socket()
    this.sockets.push(socket)
    return socket
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`connect ${code}`), { code })
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
