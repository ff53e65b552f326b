/**
 * Keeps one address from taking all connections of a server: whoever has its share is closed before the handshake, which
 * is what costs. Only for servers whose clients do not come through one common address.
 */
import type { Server, Socket } from 'node:net'

export function limitAddresses(server: Pick<Server, 'on'>, maxConnections: number, refused: () => void): void {
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const count = (open.get(address) ?? 0) + 1
    open.set(address, count)
    socket.once('close', () => {
      const left = (open.get(address) ?? 0) - 1
      if (left > 0) open.set(address, left)
      else open.delete(address)
    })
    if (count <= maxConnections) return
    refused()
    socket.destroy()
  })
}
