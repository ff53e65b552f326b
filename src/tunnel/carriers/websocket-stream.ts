/**
 * The bytes of a WebSocket as a stream of Node. Where messages begin and end means nothing: only the order of the bytes counts.
 * Ending the stream sends everything and then a close frame; a far end that goes without one is an error.
 */
import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Clock } from '../../runtime/clock.ts'
import { guardEmitter } from '../../runtime/guarded-emitter.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import { offence } from '../yamux/errors.ts'

/** More in one message would only make the far end collect it: a buffer is cut into messages of this size. */
const WEBSOCKET_MESSAGE_BYTES = 64 * 1024
/** A longer message is not one of ours, unless something on the way joins them. The far end is cut off. */
export const MAX_WEBSOCKET_MESSAGE_BYTES = 1024 * 1024
/** Something on the way may cut messages into fragments; into more than this only somebody who wants to use up memory. */
export const MAX_WEBSOCKET_FRAGMENTS = 1_024
/** Pieces in which the longest message may arrive: the smallest packets in use are larger than its length by this number. */
const MAX_WEBSOCKET_PIECES = 4_096
/** Pings, pongs and empty messages that the far end may send per second, over time. What is on the way sends one in seconds. */
export const MAX_IDLE_WEBSOCKET_MESSAGES_PER_SECOND = 20
/** Pings, pongs and empty messages that the far end may send at once: what a link that hung for a while had in store. */
export const MAX_IDLE_WEBSOCKET_MESSAGES_AT_ONCE = 200
/** How long the far end may take to answer a close frame; the bytes before it have to arrive first, over a slow link. */
const WEBSOCKET_CLOSE_TIMEOUT_MS = 30_000

/** For both ends. Compressing what is encrypted gains nothing, and pings are answered by the stream, within bounds. */
export const WEBSOCKET_OPTIONS = {
  perMessageDeflate: false,
  maxPayload: MAX_WEBSOCKET_MESSAGE_BYTES,
  maxFragments: MAX_WEBSOCKET_FRAGMENTS,
  maxBufferedChunks: MAX_WEBSOCKET_PIECES,
  closeTimeout: WEBSOCKET_CLOSE_TIMEOUT_MS,
  autoPong: false,
} as const

const closeNormally = 1000
const unacceptableMessage = 1003
/** Normal, going away, and a close frame that gives no reason. */
const goodOrder: readonly number[] = [closeNormally, 1001, 1005]
/** What WebSocket libraries report where there was no close frame. */
const brokenOff = 1006

export class WebSocketStream extends Duplex {
  readonly #webSocket: WebSocket
  readonly #socket: Duplex
  readonly #clock: Clock
  readonly #idleMessages: TokenBucket
  #afterDrain: (() => void) | undefined
  #socketError: Error | undefined

  /** The WebSocket must be open, and nothing of it read yet; `socket` is what it runs on. */
  constructor(webSocket: WebSocket, socket: Duplex, clock: Clock) {
    super({ allowHalfOpen: true })
    this.#webSocket = webSocket
    this.#socket = socket
    this.#clock = clock
    this.#idleMessages = new TokenBucket(
      MAX_IDLE_WEBSOCKET_MESSAGES_PER_SECOND,
      clock.monotonicMs(),
      MAX_IDLE_WEBSOCKET_MESSAGES_AT_ONCE,
    )
    // It delivers also out of timers of its own; what fails there ends the carrier, whose session says why.
    guardEmitter(webSocket, (error) => this.destroy(error as Error))
    webSocket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary))
    webSocket.on('ping', (data) => {
      if (this.#mayBeIdle('pings')) this.#answerPing(data)
    })
    webSocket.on('pong', () => this.#mayBeIdle('pongs'))
    webSocket.on('error', (error) => this.destroy(error))
    webSocket.on('close', (code, reason) => this.#onClosed(code, reason))
    socket.on('drain', () => this.#onDrain())
    socket.on('error', (error) => {
      this.#socketError = error
    })
  }

  override _read(): void {
    this.#webSocket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#send([chunk], done)
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  override _final(done: () => void): void {
    this.#webSocket.close(closeNormally)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#webSocket.terminate()
    done(error)
  }

  /** One write to the system for all of it. The next comes when the socket has room, not when this has left. */
  #send(chunks: readonly Buffer[], done: () => void): void {
    const socket = this.#socket
    socket.cork()
    for (const chunk of chunks) this.#sendInMessages(chunk)
    socket.uncork()
    if (socket.writableNeedDrain) this.#afterDrain = done
    else done()
  }

  #sendInMessages(chunk: Buffer): void {
    for (let start = 0; start < chunk.length; start += WEBSOCKET_MESSAGE_BYTES) {
      // Failures show as the end of the connection; without a callback they would be thrown.
      this.#webSocket.send(chunk.subarray(start, start + WEBSOCKET_MESSAGE_BYTES), { binary: true }, ignore)
    }
  }

  #onDrain(): void {
    const done = this.#afterDrain
    this.#afterDrain = undefined
    done?.()
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (!isBinary) {
      this.#webSocket.close(unacceptableMessage)
      this.destroy(new Error('the far end of the WebSocket sent text; a session is binary'))
      return
    }
    if (data.length === 0) this.#mayBeIdle('empty messages')
    else if (!this.push(data)) this.#webSocket.pause()
  }

  /** Counts a message that moves nothing; false if it was one too many, and all is over. */
  #mayBeIdle(what: string): boolean {
    if (this.destroyed) return false
    if (this.#idleMessages.take(this.#clock.monotonicMs())) return true
    this.destroy(offence('control-flood', `the peer floods the WebSocket with ${what}`))
    return false
  }

  /** Who pings and does not read gets no answers that would pile up here. */
  #answerPing(data: Buffer): void {
    if (!this.#socket.writableNeedDrain) this.#webSocket.pong(data, undefined, ignore)
  }

  #onClosed(code: number, reason: Buffer): void {
    if (this.destroyed) return
    if (goodOrder.includes(code)) this.push(null)
    else if (code === brokenOff) this.destroy(this.#socketError ?? new Error('the WebSocket broke off'))
    else this.destroy(new Error(`the far end closed the WebSocket with ${code} ${reason.toString()}`.trimEnd()))
  }
}

function ignore(): void {}
