/** The way from an edge to its hub, which a test can sever: what was open breaks off at once, and nothing else comes about. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { DialTcp } from '../../src/network/cable/cable.ts'

export class SeverableWire {
  readonly #sockets = new Set<Socket>()
  #isWhole = true

  readonly dial: DialTcp = async ({ host, port }, signal) => {
    if (!this.#isWhole) throw new Error('the wire is severed')
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true }).on('error', () => {})
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    await once(socket, 'connect', { signal })
    return socket
  }

  sever(): void {
    this.#isWhole = false
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.#isWhole = true
  }
}
