/** One gRPC call as messages in and out. Flow control is that of the HTTP/2 stream below: pausing stops the sender. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import { ReceiveTurns } from '../receive-turns.ts'
import { MessageReader, messagePrefix } from './message-reader.ts'
import { errorOfTrailers, GrpcCode, type GrpcCodeNumber, statusTrailers } from './status.ts'

/** An HTTP/2 stream as far as it matters here. */
export type CallStream = Duplex & { close(code?: number): void }

export interface CallHandler {
  message(message: Buffer): void
  /** Called once, after the last message; without an error where the peer ended the call in good order. */
  closed(error: Error | undefined): void
}

/** The reader has kept what is left. */
const nothing = Buffer.alloc(0)

type Done = (error?: Error | null) => void

export class MessageStream {
  readonly #stream: CallStream
  #error: Error | undefined
  #isFlushPlanned = false
  #isPaused = false
  /** What came has to wait for its turn. */
  #isWaiting = false
  #finishTrailers: (() => void) | undefined

  /** Takes the stream over. Messages are delivered from the next turn on. */
  constructor(stream: CallStream, clock: Clock, handler: CallHandler) {
    this.#stream = stream
    const reader = new MessageReader((message) => {
      if (this.#error === undefined) handler.message(message)
    })
    const held = { pause: () => this.#wait(true), resume: () => this.#wait(false) }
    const turns = new ReceiveTurns(clock, held, (chunk, isTimeUp) => {
      let hasMore = false
      this.#guard(() => {
        hasMore = reader.push(chunk, isTimeUp)
      })
      return hasMore ? nothing : undefined
    })
    stream.on('data', (chunk: Buffer) => turns.take(chunk))
    stream.once('end', () => this.#guard(() => this.#onEnd(reader)))
    stream.once('trailers', (trailers: IncomingHttpHeaders) => {
      this.#error ??= errorOfTrailers(trailers)
    })
    stream.on('error', (error: Error) => {
      this.#error ??= error
    })
    stream.once('close', () => handler.closed(this.#error))
  }

  /** Bytes the peer has not made room for yet. */
  get backlogBytes(): number {
    return this.#stream.writableLength
  }

  /** The parts are one message. `done` is called when the HTTP/2 layer has taken it. */
  send(parts: readonly Uint8Array[], done?: Done): void {
    if (!this.#stream.writable) {
      done?.(new Error('the call has ended'))
      return
    }
    const bytes = parts.reduce((sum, part) => sum + part.length, 0)
    this.#planFlush()
    this.#stream.write(messagePrefix(bytes))
    for (const [index, part] of parts.entries()) this.#stream.write(part, index === parts.length - 1 ? done : undefined)
  }

  pause(): void {
    this.#isPaused = true
    this.#stream.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (!this.#isWaiting) this.#stream.resume()
  }

  /** Server: ends the call with a status, after what was sent. What the client still sends is thrown away. */
  finish(code: GrpcCodeNumber, message = ''): void {
    const stream = this.#stream as ServerHttp2Stream
    if (this.#finishTrailers !== undefined || !stream.writable) return
    this.#finishTrailers = () => {
      stream.sendTrailers(statusTrailers(code, message))
      // A client that does not end its side would keep the stream for ever.
      setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR))
    }
    stream.once('wantTrailers', this.#finishTrailers)
    stream.end()
    stream.resume()
  }

  /** Client: sends no more. */
  end(): void {
    this.#stream.end()
  }

  /** Ends the call at once, whatever is under way. */
  abort(error?: Error): void {
    this.#error ??= error
    if (!this.#stream.destroyed) this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  #wait(isWaiting: boolean): void {
    this.#isWaiting = isWaiting
    if (isWaiting) this.#stream.pause()
    else if (!this.#isPaused) this.#stream.resume()
  }

  #onEnd(reader: MessageReader): void {
    reader.end()
    // A client that has said everything wants the call to end; one that is answering has ended it already.
    if ('pushAllowed' in this.#stream) this.finish(GrpcCode.ok)
    else this.#stream.end()
  }

  /** All messages of one turn of the event loop leave in one write. */
  #planFlush(): void {
    if (this.#isFlushPlanned) return
    this.#isFlushPlanned = true
    this.#stream.cork()
    process.nextTick(() => {
      this.#isFlushPlanned = false
      this.#stream.uncork()
    })
  }

  #guard(action: () => void): void {
    try {
      action()
    } catch (error) {
      this.abort(error as Error)
    }
  }
}
