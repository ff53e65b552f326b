/**
 * Closing an HTTP server without cutting anybody off and without waiting for anybody idle: Node's own `close` does the one
 * or the other, so the sockets are followed here.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { closeListening } from '../network/listen.ts'

export class HttpDrain {
  readonly #server: Server
  /** Every open connection, with the number of requests that have no complete answer yet. */
  readonly #connections = new Map<Socket, number>()
  #draining = false

  /** Must be made before the server takes its first connection. */
  constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket: Socket) => this.#follow(socket))
    server.prependListener('request', (request, response) => this.#count(request, response))
  }

  /**
   * Takes no new connection, ends idle ones now and busy ones after their answer; resolves when all are gone.
   * Once `deadline` aborts the rest is destroyed.
   */
  close(deadline: AbortSignal): Promise<void> {
    this.#draining = true
    const closed = closeListening(this.#server)
    const destroyAll = (): void => this.#destroy(() => true)
    this.#destroy((unanswered) => unanswered === 0)
    if (deadline.aborted) destroyAll()
    else deadline.addEventListener('abort', destroyAll, { once: true })
    return closed.finally(() => deadline.removeEventListener('abort', destroyAll))
  }

  #follow(socket: Socket): void {
    this.#connections.set(socket, 0)
    socket.once('close', () => this.#connections.delete(socket))
  }

  #count(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    this.#connections.set(socket, (this.#connections.get(socket) ?? 0) + 1)
    if (this.#draining) response.setHeader('connection', 'close')
    response.once('close', () => {
      const unanswered = this.#connections.get(socket)
      if (unanswered === undefined) return
      this.#connections.set(socket, unanswered - 1)
      if (this.#draining && unanswered === 1) socket.destroySoon()
    })
  }

  #destroy(selected: (unanswered: number) => boolean): void {
    for (const [socket, unanswered] of this.#connections) if (selected(unanswered)) socket.destroy()
  }
}
