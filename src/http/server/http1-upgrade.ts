/** An HTTP/1.1 request to switch protocols: answered like any other, or switched. */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ResponseHeaders, UpgradeExchange } from './exchange.ts'
import { Http1Exchange, type Http1ExchangeOptions } from './http1-exchange.ts'

export class Http1Upgrade extends Http1Exchange implements UpgradeExchange {
  readonly #answer: ServerResponse
  readonly #socket: Socket
  readonly #head: Buffer

  /** `head`: what had been read from the connection beyond the request. */
  constructor(request: IncomingMessage, socket: Socket, head: Buffer, options: Http1ExchangeOptions) {
    const answer = new ServerResponse(request)
    // Node has let go of the connection: nobody reads a further request from it.
    answer.shouldKeepAlive = false
    answer.assignSocket(socket)
    answer.once('finish', () => socket.destroySoon())
    // A connection that breaks is told by `closed`, or by the stream it was given away as.
    socket.on('error', () => {})
    super(request, answer, options)
    this.#answer = answer
    this.#socket = socket
    this.#head = head
  }

  switchProtocols(headers: ResponseHeaders): Duplex {
    const [answer, socket] = [this.#answer, this.#socket]
    answer.sendDate = false
    answer.writeHead(101, headers)
    answer.flushHeaders()
    answer.detachSocket(socket)
    socket.once('close', () => answer.emit('close'))
    // What the client has yet to be told after its own end would be lost.
    socket.allowHalfOpen = true
    if (this.#head.length > 0) socket.unshift(this.#head)
    return socket
  }
}
