/**
 * A stream of a session as a Node Duplex. Ending it sends FIN and leaves the other direction open; destroying it sends RST.
 * Bytes the reader does not take stay in the session's stream, inside its window.
 */
import { Duplex } from 'node:stream'
import type { EndingStreams } from './ending-streams.ts'
import type { StreamError } from './yamux/errors.ts'
import type { Stream, StreamHandler } from './yamux/stream.ts'

/** Bytes a Node stream holds in each direction on top of the session's own: one read of a socket. */
const TUNNEL_STREAM_BUFFER_BYTES = 64 * 1024

/** Takes the first bytes of a stream for itself, before any reader sees one. */
export interface ReadGate {
  /** Returns what follows the gate's own bytes once it has them all; `undefined` asks for more. Throwing ends the stream. */
  push(chunk: Uint8Array): Uint8Array | undefined
  /** The stream ended while the gate still waited. Returns the error the stream fails with, if that is one. */
  ended(): Error | undefined
}

type Callback = (error?: Error | null) => void

export class TunnelStream extends Duplex implements StreamHandler {
  readonly #core: Stream
  readonly #ending: EndingStreams | undefined
  readonly #isGoingAway: () => boolean
  #gate: ReadGate | undefined
  #readerWaits = false
  #relay: (() => void) | undefined
  #relayRest: Uint8Array | null = null
  #pushedEnd = false
  /** What the session would not take yet, and who is told when it has. */
  #unwritten: Uint8Array[] = []
  #writeDone: Callback | undefined

  /** `ending` ends it in turn with the other streams of its session when that has ended. */
  constructor(core: Stream, ending?: EndingStreams, isGoingAway = (): boolean => false) {
    super({
      allowHalfOpen: true,
      readableHighWaterMark: TUNNEL_STREAM_BUFFER_BYTES,
      writableHighWaterMark: TUNNEL_STREAM_BUFFER_BYTES,
    })
    this.#core = core
    this.#ending = ending
    this.#isGoingAway = isGoingAway
    core.attach(this)
  }

  get id(): number {
    return this.#core.id
  }

  /** Its session takes no more streams and ends with the last it has: whoever uses this one again and again holds it up. */
  get isSessionGoingAway(): boolean {
    return this.#isGoingAway()
  }

  /** The receive window as it is now. */
  get windowBytes(): number {
    return this.#core.windowBytes
  }

  /** Tells the peer that its stream has been taken; the first write does so too. */
  accept(): void {
    this.#core.accept()
  }

  /** The peer that opened it might have known that it leads nowhere; `what` says why, of several streams. */
  countFruitless(what: string): void {
    this.#core.countFruitless(what)
  }

  /** Sets who takes the next bytes for itself. Bytes that were waiting go through it at once. */
  setGate(gate: ReadGate): void {
    this.#gate = gate
    this.onReadable()
  }

  /**
   * Reads below the Node stream from now on, without its cost per chunk: `onReadable` is called when `takeChunk` may have
   * something, or the end. Nothing else may read any more.
   */
  takeOver(onReadable: () => void): void {
    // What has already been put into the Node stream comes first.
    this.#relayRest = this.read() as Buffer | null
    this.#relay = onReadable
    onReadable()
  }

  /** Bytes that wait below the Node stream. */
  get unreadBytes(): number {
    return this.#core.unreadBytes
  }

  /** The next bytes of a stream that was taken over. */
  takeChunk(): Uint8Array | undefined {
    if (this.#gate !== undefined) return undefined
    const rest = this.#relayRest
    if (rest === null) return this.#core.read()
    this.#relayRest = null
    return rest
  }

  /** For a stream that was taken over: true once everything has been taken and the peer has ended. */
  takeEnd(): boolean {
    if (this.#gate !== undefined || this.#relayRest !== null || !this.#core.isReadEnded) return false
    if (!this.#pushedEnd) {
      this.#pushedEnd = true
      this.push(null)
      this.resume()
    }
    return true
  }

  onReadable(): void {
    if (this.destroyed) return
    if (this.#gate !== undefined) this.#passGate(this.#gate)
    else if (this.#relay !== undefined) this.#relay()
    else if (this.#readerWaits) this.#pump()
  }

  onWritable(): void {
    const done = this.#writeDone
    if (done === undefined) return
    this.#writeDone = undefined
    const chunks = this.#unwritten
    this.#unwritten = []
    this.#send(chunks, done)
  }

  onReset(error: StreamError): void {
    if (error.code === 'session-ended' && this.#ending !== undefined) this.#ending.add(() => void this.destroy(error))
    else this.destroy(error)
  }

  override _read(): void {
    this.#readerWaits = true
    if (this.#gate === undefined && this.#relay === undefined) this.#pump()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Callback): void {
    this.#send([chunk], done)
  }

  override _writev(chunks: { chunk: Uint8Array }[], done: Callback): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  override _final(done: Callback): void {
    this.#core.end()
    done()
  }

  override _destroy(error: Error | null, done: Callback): void {
    const endedBothWays = error === null && this.writableFinished && this.#core.isReadEnded
    // What was ended in good order is still being sent.
    if (!endedBothWays) this.#core.reset()
    const writeDone = this.#writeDone
    this.#writeDone = undefined
    this.#unwritten = []
    writeDone?.(error ?? new Error(`stream ${this.id} was destroyed`))
    done(error)
  }

  /** Hands bytes to the session as long as it wants more, large chunks in slices; the rest waits here, uncounted. */
  #send(chunks: Uint8Array[], done: Callback): void {
    try {
      let mayGoOn = true
      for (let index = 0; index < chunks.length; index++) {
        const chunk = chunks[index] as Uint8Array
        for (let offset = 0; offset < chunk.length; offset += TUNNEL_STREAM_BUFFER_BYTES) {
          if (!mayGoOn) {
            this.#unwritten = [chunk.subarray(offset), ...chunks.slice(index + 1)]
            this.#writeDone = done
            return
          }
          mayGoOn = this.#core.write(
            chunk.length <= TUNNEL_STREAM_BUFFER_BYTES
              ? chunk
              : chunk.subarray(offset, offset + TUNNEL_STREAM_BUFFER_BYTES),
          )
        }
      }
      if (mayGoOn) done()
      else this.#writeDone = done
    } catch (error) {
      done(error as Error)
    }
  }

  #pump(): void {
    while (this.#readerWaits) {
      const chunk = this.#core.read()
      if (chunk === undefined) break
      this.#readerWaits = this.push(chunk)
    }
    if (this.#core.isReadEnded && !this.#pushedEnd) {
      this.#pushedEnd = true
      this.push(null)
    }
  }

  #passGate(gate: ReadGate): void {
    try {
      for (let chunk = this.#core.read(); chunk !== undefined; chunk = this.#core.read()) {
        const rest = gate.push(chunk)
        // A gate may put another in its place, which has then taken the rest.
        if (this.#gate !== gate || this.destroyed) return
        if (rest === undefined) continue
        this.#gate = undefined
        this.#afterGate(rest)
        return
      }
      if (this.#core.isReadEnded) this.#endAtGate(gate)
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  #afterGate(rest: Uint8Array): void {
    if (this.#relay !== undefined) {
      if (rest.length > 0) this.#relayRest = rest
      this.#relay()
      return
    }
    if (rest.length > 0) this.#readerWaits = this.push(rest)
    this.#pump()
  }

  #endAtGate(gate: ReadGate): void {
    const error = gate.ended()
    if (error !== undefined) {
      this.destroy(error)
      return
    }
    this.#gate = undefined
    this.resume()
    this.#pump()
  }
}
