/**
 * The places of a small HTTP server. When all are taken, a newcomer gets that of the connection which has gone longest without a
 * request: whoever holds places with requests that never end, or with none at all, keeps nobody out.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Must be called before the server takes its first connection. `cut` hears of every connection that had to go. */
export function holdPlaces(server: Server, max: number, cut: () => void): void {
  const places = new ConnectionPlaces(max, cut)
  server.prependListener('connection', (socket: Socket) => places.take(socket))
  server.prependListener('request', (request, response) => places.asked(request, response))
}

class ConnectionPlaces {
  readonly #max: number
  readonly #cut: () => void
  /** With the answers that are not sent yet; who asked last stands last. */
  readonly #connections = new Map<Socket, Set<ServerResponse>>()

  constructor(max: number, cut: () => void) {
    this.#max = max
    this.#cut = cut
  }

  take(socket: Socket): void {
    this.#connections.set(socket, new Set())
    socket.once('close', () => this.#connections.delete(socket))
    if (this.#connections.size > this.#max) this.#makeRoom()
  }

  asked({ socket }: IncomingMessage, response: ServerResponse): void {
    const answers = this.#connections.get(socket)
    if (answers === undefined) return
    this.#connections.delete(socket)
    this.#connections.set(socket, answers.add(response))
    response.once('close', () => answers.delete(response))
  }

  /** The newcomer itself goes where all others wait for us. An answer that is written and not read is the reader's delay. */
  #makeRoom(): void {
    for (const [socket, answers] of this.#connections) {
      if ([...answers].some((answer) => !answer.writableEnded)) continue
      this.#connections.delete(socket)
      socket.destroy()
      this.#cut()
      return
    }
  }
}
