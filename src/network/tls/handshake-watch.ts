/**
 * Between a TLS socket and the bytes for it: through the guard while the handshake lasts, and straight on after it. What is left
 * to watch then are new keys, which a peer may ask for without end.
 */
import type { TLSSocket } from 'node:tls'
import { checkChainPrice } from './chain-price.ts'
import { HandshakeGuard } from './handshake-guard.ts'
import { HandshakeRefusal } from './handshake-refusal.ts'
import { TrafficKey } from './traffic-key.ts'

/** A line of a key log: what it is for, which connection, the secret; the last two in hexadecimal. */
const KEY_LOG_LINE = /^(\S+) [0-9a-f]+ ([0-9a-f]+)\s*$/

const PEER_SECRETS = {
  client: 'CLIENT_HANDSHAKE_TRAFFIC_SECRET',
  server: 'SERVER_HANDSHAKE_TRAFFIC_SECRET',
} as const

/**
 * Keys of one connection, of both directions, after the first: each costs as much as a small request. Who changes them at all does so
 * after some hundred gigabytes.
 */
export const MAX_KEY_CHANGES = 64

/** Which end of the connection the other one is. */
export type PeerSide = keyof typeof PEER_SECRETS

/** Where the bytes come from and go to. */
export interface HandshakePath {
  /** Gives bytes to the TLS socket, which handles them before this returns. */
  feed(bytes: Buffer): void
  /** The handshake is done and what was read for it is fed: from here on nothing needs to pass by here. */
  open(): void
  /** Tells the TLS socket that there will be no more. */
  end(): void
  /** Stops the bytes from coming, up to one that is on its way. */
  pause(): void
  resume(): void
}

export interface HandshakeWatchOptions {
  readonly peer: PeerSide
  readonly path: HandshakePath
  /** What to wait for before the next piece of a handshake is worked on; `undefined` if nothing. */
  readonly turn: () => Promise<void> | undefined
}

export class HandshakeWatch {
  readonly #socket: TLSSocket
  readonly #options: HandshakeWatchOptions
  readonly #guard = new HandshakeGuard(checkChainPrice)
  #isDone = false
  #isPumping = false
  #hasEnded = false
  #keyChanges = 0

  constructor(socket: TLSSocket, options: HandshakeWatchOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('keylog', (line: Buffer) => {
      if (this.#isDone) this.#countKeyChange()
      else this.#unlock(line.toString('latin1'))
    })
    socket.once('secure', () => {
      this.#isDone = true
    })
  }

  /** What came from the peer. The bytes are not used after this returns. */
  take(bytes: Buffer): void {
    if (this.#isDone && !this.#isPumping) {
      this.#options.path.feed(bytes)
      return
    }
    this.#standOver(() => this.#guard.push(bytes))
    this.#pump()
  }

  /** The peer sends no more. */
  end(): void {
    this.#hasEnded = true
    if (!this.#isPumping) this.#finish()
  }

  #finish(): void {
    // Nobody reads from a socket before its handshake, so that its end would not show.
    if (this.#isDone) this.#options.path.end()
    else this.#socket.destroy(new Error('the peer left during its TLS handshake'))
  }

  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    const turn = this.#options.turn()
    if (turn === undefined) {
      this.#feedOn()
      return
    }
    this.#options.path.pause()
    const goOn = (): void => {
      this.#feedOn()
      if (!this.#socket.destroyed) this.#options.path.resume()
    }
    void turn.then(goOn)
  }

  #feedOn(): void {
    this.#standOver(() => {
      while (!this.#isDone && !this.#socket.destroyed) {
        const piece = this.#guard.next()
        if (piece === undefined) return
        this.#options.path.feed(piece)
      }
    })
    // Node ends the last write of a handshake in the next turn, and an answer and the end of the connection before that
    // would be the end of the answer.
    if (this.#isDone) setImmediate(() => this.#open())
    else this.#pumped()
  }

  #open(): void {
    this.#standOver(() => {
      const { path } = this.#options
      const rest = this.#guard.release()
      if (this.#socket.destroyed) return
      if (rest.length > 0) path.feed(rest)
      path.open()
    })
    this.#pumped()
  }

  #pumped(): void {
    this.#isPumping = false
    if (this.#hasEnded) this.#finish()
  }

  #countKeyChange(): void {
    this.#keyChanges += 1
    if (this.#keyChanges > MAX_KEY_CHANGES)
      this.#socket.destroy(new HandshakeRefusal(`the keys were changed more than ${MAX_KEY_CHANGES} times`))
  }

  #unlock(line: string): void {
    const [, label, secret = ''] = KEY_LOG_LINE.exec(line) ?? []
    if (label !== PEER_SECRETS[this.#options.peer]) return
    this.#standOver(() => {
      const { standardName } = this.#socket.getCipher()
      this.#guard.unlock(new TrafficKey(standardName, Buffer.from(secret, 'hex')))
    })
    // What came too early for the key.
    this.#pump()
  }

  #standOver(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#socket.destroy(error as Error)
    }
  }
}
