/**
 * One connection to the CONNECT front, from its first byte to its last. No byte of the far end goes out before the 200, and
 * none together with it.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { type RelayResult, relay } from '../../tunnel/relay.ts'
import type { Destination } from '../routing/destination.ts'
import type { DialedRoute } from '../routing/route-dialer.ts'
import { CONNECTED, errorAnswer, refusalAnswer } from './connect-answer.ts'
import { ConnectHeadReader, type ConnectRequest } from './connect-head.ts'
import type { FrontClient, FrontConnection } from './front-client.ts'

/** For the head of the request: the client is on this machine or near it. */
export const CONNECT_HEAD_TIMEOUT_MS = 10_000
/** What a client may send before the answer; it waits with more. A TLS greeting is far smaller. */
export const MAX_EARLY_BYTES = 64 * 1024
/**
 * How long a far end that speaks first is held back after the 200 on a unix socket while the client is silent. An API server
 * fails a connection on which it finds more than the answer in one read, and nobody can see from here when a unix socket has been
 * read, so its first byte is waited for: it comes after the 200 was read, and API servers speak first to all they talk to. The
 * time is for other clients, which wait for the far end to speak (SSH, SMTP, MySQL) and lose no byte that comes with the 200.
 */
export const FIRST_WORD_HOLD_MS = 25
/** For a refused client to read why before the connection is cut. */
export const FRONT_LINGER_MS = 2_000

export interface ConnectConnectionOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Rejects with an `OpenError`. */
  dial(destination: Destination, signal: AbortSignal): Promise<DialedRoute>
  rejected(reason: 'request' | 'timeout' | 'certificate'): void
  carried(result: RelayResult): void
}

/**
 * - `reading`: the head is not complete.
 * - `dialling`: what the client sends is kept.
 * - `held`: the 200 is out; the far end waits until the client has spoken, or for a moment.
 * - `joined`: bytes pass.
 * - `refused`: the answer is out; what the client still sends is thrown away.
 */
type State = 'reading' | 'dialling' | 'held' | 'joined' | 'refused'

const clientGone = new Error('the client of the front has gone')

export class ConnectConnection implements FrontConnection {
  readonly #socket: Socket
  readonly #client: FrontClient
  readonly #options: ConnectConnectionOptions
  readonly #reader = new ConnectHeadReader()
  /** While a dial is under way. */
  #dialling: AbortController | undefined
  #state: State = 'reading'
  #early: Buffer[] = []
  #earlyBytes = 0
  #hasEnded = false
  #cancelTimer = (): void => {}
  #dialed: DialedRoute | undefined

  constructor(socket: Socket, client: FrontClient, options: ConnectConnectionOptions) {
    this.#socket = socket
    this.#client = client
    this.#options = options
  }

  start(): void {
    const socket = this.#socket
    socket.on('error', (error) => this.#options.logger.debug({ err: error }, 'connection to a front broke'))
    socket.once('close', () => this.#onClose())
    const { refusal } = this.#client
    if (refusal !== undefined) {
      this.#options.rejected('certificate')
      this.#refuse(refusalAnswer('denied', refusal))
      return
    }
    this.#setTimer(CONNECT_HEAD_TIMEOUT_MS, () => this.#reject('timeout', 408, 'the request took too long'))
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
  }

  /** Whoever has not asked for anything yet has nothing to lose. */
  drain(): void {
    if (this.#state === 'reading') this.#socket.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#state === 'reading') this.#readHead(chunk)
    else if (this.#state === 'dialling' || this.#state === 'held') this.#keep(chunk)
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    // Somebody who only looked whether there is a port, or gave up in the middle of the head.
    if (this.#state === 'reading') this.#socket.destroy()
    else if (this.#state === 'held') this.#join()
  }

  #onClose(): void {
    this.#cancelTimer()
    this.#dialling?.abort(clientGone)
    if (this.#state === 'held') this.#dialed?.stream.destroy()
  }

  #readHead(chunk: Buffer): void {
    const request = this.#reader.push(chunk)
    if (request === undefined) return
    this.#cancelTimer()
    if ('problem' in request) this.#reject('request', request.status, request.problem)
    else void this.#dial(request)
  }

  async #dial({ destination, rest }: ConnectRequest): Promise<void> {
    this.#state = 'dialling'
    if (rest.length > 0) this.#keep(rest)
    const dialling = new AbortController()
    this.#dialling = dialling
    try {
      const dialed = await this.#options.dial(destination, dialling.signal)
      this.#dialling = undefined
      this.#connected(dialed)
    } catch (error) {
      this.#dialling = undefined
      if (!(error instanceof OpenError)) this.#options.logger.error({ err: error }, 'a dial failed unexpectedly')
      const { code, message } = error instanceof OpenError ? error : new OpenError('refused', 'internal error')
      this.#refuse(refusalAnswer(code, message))
    }
  }

  #keep(chunk: Buffer): void {
    this.#early.push(chunk)
    this.#earlyBytes += chunk.length
    if (this.#state === 'held') this.#join()
    else if (this.#earlyBytes > MAX_EARLY_BYTES) this.#socket.pause()
  }

  #connected(dialed: DialedRoute): void {
    const { stream } = dialed
    // From here on it is ours: if it breaks before it is joined, joining finds that out.
    stream.on('error', () => {})
    if (this.#socket.destroyed) {
      stream.destroy()
      return
    }
    this.#dialed = dialed
    this.#state = 'held'
    this.#socket.write(CONNECTED)
    // Whoever speaks before the answer does not mind what comes with it.
    const hasSpoken = this.#earlyBytes > 0 || this.#hasEnded
    if (hasSpoken || this.#client.keepsWritesApart === true) this.#join()
    else this.#setTimer(FIRST_WORD_HOLD_MS, () => this.#join())
  }

  #join(): void {
    const stream = this.#dialed?.stream
    if (this.#state !== 'held' || stream === undefined) return
    this.#state = 'joined'
    this.#cancelTimer()
    const socket = this.#socket
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    const early = this.#early
    this.#early = []
    for (const chunk of early) stream.write(chunk)
    if (this.#hasEnded) stream.end()
    const done = relay(stream, socket)
    socket.resume()
    void done.then((result) =>
      this.#options.carried({ ...result, toTunnelBytes: result.toTunnelBytes + this.#earlyBytes }),
    )
  }

  #reject(reason: 'request' | 'timeout', status: number, problem: string): void {
    this.#options.rejected(reason)
    this.#refuse(errorAnswer(status, problem))
  }

  /** Reads on after the answer: closing with bytes unread would take the answer away from the client. */
  #refuse(answer: string): void {
    this.#cancelTimer()
    if (this.#socket.destroyed) return
    this.#state = 'refused'
    this.#early = []
    this.#socket.end(answer)
    this.#socket.resume()
    this.#setTimer(FRONT_LINGER_MS, () => this.#socket.destroy())
  }

  #setTimer(delayMs: number, action: () => void): void {
    this.#cancelTimer = this.#options.clock.schedule(delayMs, action)
  }
}
