/**
 * Two HTTP/2 sessions with a wire between them that a test moves by hand, cut wherever it likes. Every byte of a body is a
 * function of its place, so that readers check contents without a copy; and every end checks what its handler is told.
 */
import type { Transport } from '../../src/http/http2/send-scheduler.ts'
import { Http2Session } from '../../src/http/http2/session.ts'
import type { SessionOptions } from '../../src/http/http2/session-options.ts'
import type { Http2Stream, StreamHandler } from '../../src/http/http2/stream.ts'
import type { Http2Error } from '../../src/http/http2/wire.ts'
import { ErrorCode } from '../../src/http/http2/wire.ts'
import {
  getFields,
  type NaiveFrame,
  naiveDecode,
  postFields,
  preface,
  settings,
  settingsAck,
  WireAccountant,
} from './http2-naive.ts'

export type Side = 'client' | 'server'

export const other = (side: Side): Side => (side === 'client' ? 'server' : 'client')

/** Takes what it gets until a test takes it away. */
export class HandTransport implements Transport {
  readonly sent: Buffer[] = []
  canTakeMore = true
  readonly #watch: (bytes: Buffer) => void

  constructor(watch: (bytes: Buffer) => void = () => {}) {
    this.#watch = watch
  }

  send(bytes: Buffer): void {
    this.#watch(bytes)
    this.sent.push(bytes)
  }

  take(): Buffer {
    return Buffer.concat(this.sent.splice(0))
  }
}

/** One end of one stream: what was done, what came, and the rules for handlers. */
export class StreamEnd implements StreamHandler {
  readonly side: Side
  stream: Http2Stream | undefined
  status = 0
  fields: readonly string[] = []
  writtenBytes = 0
  hasEnded = false
  readBytes = 0
  trailers: readonly string[] | undefined
  drains = 0
  isSent = false
  isClosed = false
  /** Called with each event, so that a test can do things from within. */
  within: (event: 'head' | 'data' | 'end' | 'drain' | 'sent' | 'close') => void = () => {}

  constructor(side: Side) {
    this.side = side
  }

  get id(): number {
    return this.#open().id
  }

  get resetCode(): number | undefined {
    return this.#open().resetCode
  }

  get hasEnd(): boolean {
    return this.trailers !== undefined
  }

  write(bytes: number): boolean {
    const stream = this.#open()
    if (this.hasEnded || stream.isSendingOver) return true
    const piece = contents(stream.id, this.side, this.writtenBytes, bytes)
    this.writtenBytes += bytes
    return stream.write(piece)
  }

  end(trailers?: readonly string[]): void {
    this.hasEnded = true
    this.#open().end(trailers)
  }

  endWith(bytes: number): void {
    const stream = this.#open()
    if (this.hasEnded || stream.isSendingOver) return
    const piece = contents(stream.id, this.side, this.writtenBytes, bytes)
    this.writtenBytes += bytes
    this.hasEnded = true
    stream.endWith(piece)
  }

  onHead(fields: readonly string[], status: number): void {
    this.#check(this.side === 'client' && this.status === 0 && this.readBytes === 0, 'a head out of place')
    this.status = status
    this.fields = fields
    this.within('head')
  }

  onData(piece: Buffer): void {
    this.#check(!this.hasEnd && piece.length > 0, 'data out of place')
    this.#check(this.side === 'server' || this.status !== 0, 'data before the head')
    const expected = contents(this.id, other(this.side), this.readBytes, piece.length)
    this.#check(expected.equals(piece), `wrong bytes at ${this.readBytes}`)
    this.readBytes += piece.length
    this.within('data')
  }

  onEnd(trailers: readonly string[]): void {
    this.#check(!this.hasEnd, 'a second end')
    this.trailers = trailers
    this.within('end')
  }

  onDrain(): void {
    this.#check(!this.isSent, 'drained after all was sent')
    this.drains += 1
    this.within('drain')
  }

  onSent(): void {
    this.#check(!this.isSent, 'sent twice')
    this.isSent = true
    this.within('sent')
  }

  onClose(): void {
    this.#check(true, 'closed')
    this.isClosed = true
    this.within('close')
  }

  #open(): Http2Stream {
    if (this.stream === undefined) throw new Error('the stream is not open yet')
    return this.stream
  }

  #check(holds: boolean, what: string): void {
    if (this.isClosed) throw new Error(`${this.side}: told of something after its close (${what})`)
    if (!holds) throw new Error(`${this.side} of stream ${this.stream?.id}: ${what}`)
  }
}

/** Time that moves only when told. */
export class HandClock {
  nowMs = 0
}

export const defaultOptions: Omit<SessionOptions, 'role' | 'nowMs'> = {
  streamWindowBytes: 65_535,
  connectionWindowBytes: 1024 * 1024,
  maxPeerStreams: 100,
  maxHeadBytes: 64 * 1024,
  maxHeadFields: 200,
}

export class End {
  readonly side: Side
  readonly transport: HandTransport
  readonly session: Http2Session
  readonly streams: StreamEnd[] = []
  failure: Http2Error | undefined
  goAways = 0
  peerLimit: number | undefined
  readonly pongs: string[] = []
  /** What a server does with a new stream, before its handler is known. */
  accept: (end: StreamEnd, stream: Http2Stream) => void = () => {}
  /** What the streams of this end do from within, unless a test says otherwise for one of them. */
  reflex: (end: StreamEnd) => void = () => {}

  constructor(side: Side, clock: HandClock, options: Partial<SessionOptions>, watch?: (bytes: Buffer) => void) {
    this.side = side
    this.transport = new HandTransport(watch)
    const limits = { ...defaultOptions, nowMs: () => clock.nowMs, ...options, role: side }
    this.session = new Http2Session(limits, this.transport, {
      onStream: (stream, fields) => {
        const end = this.#add()
        end.stream = stream
        end.fields = fields
        this.accept(end, stream)
        return end
      },
      onPeerLimit: (streams) => {
        this.peerLimit = streams
      },
      onGoAway: () => {
        this.goAways += 1
      },
      onPong: (payload) => void this.pongs.push(payload.toString('latin1')),
      onFailure: (error) => {
        this.failure = error
      },
    })
  }

  /** With a body to come, or without. */
  open(hasBody = true, fields: readonly string[] = hasBody ? postFields : getFields): StreamEnd {
    const end = this.#add()
    end.stream = this.session.open(fields, end, !hasBody)
    end.hasEnded = !hasBody
    return end
  }

  #add(): StreamEnd {
    const end = new StreamEnd(this.side)
    end.within = () => this.reflex(end)
    this.streams.push(end)
    return end
  }
}

export class Pair {
  readonly clock = new HandClock()
  readonly accountant = new WireAccountant()
  readonly client: End
  readonly server: End
  /** Under way, by its sender. */
  readonly wire: Record<Side, Buffer> = { client: Buffer.alloc(0), server: Buffer.alloc(0) }

  constructor(options: { client?: Partial<SessionOptions>; server?: Partial<SessionOptions> } = {}) {
    this.client = new End('client', this.clock, options.client ?? {}, (bytes) => this.accountant.sent('client', bytes))
    this.server = new End('server', this.clock, options.server ?? {}, (bytes) => this.accountant.sent('server', bytes))
  }

  /** Moves at most as many bytes from one side to the other, as one chunk; whether there were any. */
  move(from: Side, maxBytes = Number.POSITIVE_INFINITY): boolean {
    const bytes = Buffer.concat([this.wire[from], this[from].transport.take()])
    const chunk = bytes.subarray(0, Math.min(maxBytes, bytes.length))
    this.wire[from] = bytes.subarray(chunk.length)
    if (chunk.length === 0) return false
    const to = other(from)
    this.accountant.delivered(to, chunk)
    // A copy: the receiver must not see what is done to it later.
    this[to].session.receive(Buffer.from(chunk))
    return true
  }

  /** Moves everything both ways until nobody has anything to say. */
  settle(chunkBytes = Number.POSITIVE_INFINITY): void {
    for (let busy = true; busy; ) {
      const fromClient = this.move('client', chunkBytes)
      const fromServer = this.move('server', chunkBytes)
      busy = fromClient || fromServer
    }
  }

  /** The server's end of a stream that the client has opened. */
  served(client: StreamEnd): StreamEnd {
    const end = this.server.streams.find(({ id }) => id === client.id)
    if (end === undefined) throw new Error(`the server knows no stream ${client.id}`)
    return end
  }
}

/** A session under attack: the attacker's bytes go in, what it answers comes out as frames. */
export class Victim {
  readonly clock = new HandClock()
  readonly end: End

  /** After the first settings of both sides, unless they are left to the test. */
  constructor(side: Side, options: Partial<SessionOptions> = {}, hasBegun = true) {
    this.end = new End(side, this.clock, options)
    if (!hasBegun) return
    if (side === 'server') this.attack(preface)
    this.attack(settings(), settingsAck)
    this.answers()
  }

  attack(...frames: Buffer[]): void {
    for (const frame of frames) this.end.session.receive(frame)
  }

  answers(): NaiveFrame[] {
    const bytes = this.end.transport.take()
    return naiveDecode(bytes.indexOf(preface) === 0 ? bytes.subarray(preface.length) : bytes).frames
  }

  /** By its name, for tables of tests; undefined as long as the connection lives. */
  get failureCode(): string | undefined {
    return this.end.failure && nameOf(this.end.failure.code)
  }
}

export function nameOf(code: number): string {
  return Object.entries(ErrorCode).find(([, value]) => value === code)?.[0] ?? String(code)
}

export function contents(streamId: number, writer: Side, offset: number, bytes: number): Buffer {
  const out = Buffer.allocUnsafeSlow(bytes)
  const seed = streamId * 31 + (writer === 'client' ? 0 : 17)
  for (let index = 0; index < bytes; index++) {
    const at = offset + index
    out[index] = seed + at * 7 + (at >> 8)
  }
  return out
}

/** A stream with its head on both sides. */
export function exchange(pair: Pair): { asking: StreamEnd; serving: StreamEnd } {
  const asking = pair.client.open()
  pair.settle()
  const serving = pair.served(asking)
  serving.stream?.respond([':status', '200'], false)
  pair.settle()
  return { asking, serving }
}

/** Writes as a body with much to say does: until it is told to wait, and on when it may. */
export function pour(end: StreamEnd, totalBytes: number, pieceBytes = 16_384): void {
  const go = (): void => {
    while (end.writtenBytes < totalBytes) if (!end.write(Math.min(pieceBytes, totalBytes - end.writtenBytes))) return
    if (!end.hasEnded) end.end()
  }
  end.within = (event) => {
    if (event === 'drain') go()
  }
  go()
}
