/**
 * A TLS socket on top of a connection, with every byte of the peer's handshake looked at on its way in.
 *
 * On a connection of the kernel, Node lets OpenSSL read from it without passing by JavaScript, and offers no place to look
 * in between. So it is kept from reading until the handshake is done; the bytes until then are read here, and go into OpenSSL
 * the way in which Node itself hands over what was read too early. After that everything takes the short way.
 */
import { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { deliverInTurns } from './delivery.ts'
import { type HandshakePath, HandshakeWatch, type HandshakeWatchOptions, type PeerSide } from './handshake-watch.ts'
import { SocketPoll } from './socket-poll.ts'

export interface GuardOptions {
  readonly peer: PeerSide
  readonly turn: HandshakeWatchOptions['turn']
  /** Begins TLS on what it is given. */
  readonly begin: (carrier: Duplex) => TLSSocket
}

/** Where Node keeps the handle of a socket, which is gone once it is closed. */
const HANDLE = '_handle'

/** What is used here of the handle that Node has for a connection. */
interface ConnectionHandle {
  /** Negative where the system has no such numbers, and when it is closed. */
  readonly fd: number
  readStop(): number
}

/** What is used here of the handle that Node has for TLS on a connection. */
interface TlsHandle {
  /** Whether Node wants it to read: it begins by itself to do so where it does not yet, and fails where that was done for it. */
  readonly reading: boolean
  readStart(): number
  receive(bytes: Buffer): void
}

/** `early` was read from the carrier already. The carrier is the TLS socket's from here on and ends with it. */
export function guardedTls(carrier: Duplex, options: GuardOptions, early?: Buffer): TLSSocket {
  const handle = handleOf(carrier)
  const socket =
    handle === undefined ? onStream(carrier, options, early) : onKernelSocket(carrier as Socket, handle, options, early)
  deliverInTurns(socket)
  return socket
}

/** The handle of a connection of the kernel, if the carrier is one. */
function handleOf(carrier: Duplex): ConnectionHandle | undefined {
  // TLS within TLS has a handle as well, but what comes out of that one is not what the kernel has.
  if (!(carrier instanceof Socket) || 'encrypted' in carrier) return undefined
  const handle = (carrier as unknown as { [HANDLE]: ConnectionHandle | null })[HANDLE]
  return handle !== null && handle.fd >= 0 ? handle : undefined
}

function onKernelSocket(
  raw: Socket,
  handle: ConnectionHandle,
  { begin, peer, turn }: GuardOptions,
  early: Buffer | undefined,
): TLSSocket {
  const unread = raw.read() as Buffer | null
  handle.readStop()
  const socket = begin(raw)
  const tls = holdReading(socket)
  const poll = new SocketPoll({
    fd: () => handle.fd,
    address: raw.remoteAddress ?? '',
    onBytes: (bytes) => watch.take(bytes),
    onEnd: () => watch.end(),
    onError: (error) => void socket.destroy(error),
  })
  const path: HandshakePath = {
    feed: (bytes) => tls.feed(bytes),
    open: () => tls.letRead(),
    end: () => {},
    pause: () => poll.pause(),
    resume: () => poll.start(),
  }
  const watch = new HandshakeWatch(socket, { peer, turn, path })
  for (const event of ['secure', 'close']) socket.once(event, () => poll.stop())
  poll.start()
  for (const bytes of [early, unread]) if (bytes) watch.take(bytes)
  return socket
}

/** Keeps a TLS socket from reading what it runs on, until told otherwise. */
function holdReading(socket: TLSSocket): { feed(bytes: Buffer): void; letRead(): void } {
  const withHandle = socket as unknown as { readonly [HANDLE]: TlsHandle | null }
  const handle = withHandle[HANDLE]
  if (typeof handle?.receive !== 'function')
    throw new Error('this version of Node cannot be fed with the bytes of a handshake')
  const readStart = handle.readStart.bind(handle)
  handle.readStart = () => 0
  return {
    feed: (bytes) => withHandle[HANDLE]?.receive(bytes),
    letRead: () => {
      handle.readStart = readStart
      if (withHandle[HANDLE]?.reading === true) readStart()
    },
  }
}

function onStream(stream: Duplex, { begin, peer, turn }: GuardOptions, early: Buffer | undefined): TLSSocket {
  const carrier = new PassingStream(stream)
  const socket = begin(carrier as unknown as Duplex)
  const path: HandshakePath = {
    feed: (bytes) => void carrier.emit('data', bytes),
    open: () => {},
    end: () => void carrier.emit('end'),
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
  }
  const watch = new HandshakeWatch(socket, { peer, turn, path })
  stream.on('data', (bytes: Buffer) => watch.take(bytes))
  stream.on('end', () => watch.end())
  if (early !== undefined) watch.take(early)
  return socket
}

/** What Node's TLS uses of a stream that it runs on, except for what comes in, which takes the way through the watch. */
class PassingStream extends EventEmitter {
  readonly #stream: Duplex

  constructor(stream: Duplex) {
    super()
    this.#stream = stream
    stream.on('close', () => this.emit('close'))
    stream.on('error', (error) => this.emit('error', error))
  }

  get readable(): boolean {
    return this.#stream.readable
  }

  get writable(): boolean {
    return this.#stream.writable
  }

  get allowHalfOpen(): boolean {
    return this.#stream.allowHalfOpen
  }

  pause(): this {
    this.#stream.pause()
    return this
  }

  resume(): this {
    this.#stream.resume()
    return this
  }

  cork(): void {
    this.#stream.cork()
  }

  uncork(): void {
    this.#stream.uncork()
  }

  write(bytes: Buffer, done: (error?: Error | null) => void): boolean {
    return this.#stream.write(bytes, done)
  }

  end(done: () => void): void {
    this.#stream.end(done)
  }

  destroy(error?: Error): void {
    this.#stream.destroy(error)
  }
}
