/**
 * Joins a client of a front with the far end, both ways and each half by itself: an end passes as an end, a failure cuts both.
 * Streams of our own sessions take the relay made for them; this is for every other kind, such as a konnectivity agent's.
 */
import type { Duplex } from 'node:stream'
import { type RelayResult, type RelaySocket, relay } from '../../tunnel/relay.ts'
import { TunnelStream } from '../../tunnel/tunnel-stream.ts'

/** Resolves when both are closed; never rejects. */
export function joinStreams(far: Duplex, socket: RelaySocket): Promise<RelayResult> {
  // Clients of fronts come by unix socket or TLS, and Node throws for a reset of either.
  socket.resetAndDestroy = () => socket.destroy()
  if (far instanceof TunnelStream) return relay(far, socket)
  return new Promise((resolve) => new Join(far, socket, resolve).start())
}

class Join {
  readonly #far: Duplex
  readonly #socket: RelaySocket
  readonly #resolve: (result: RelayResult) => void
  #toSocketBytes = 0
  #toTunnelBytes = 0
  #error: Error | undefined
  #open = 2

  constructor(far: Duplex, socket: RelaySocket, resolve: (result: RelayResult) => void) {
    this.#far = far
    this.#socket = socket
    this.#resolve = resolve
  }

  start(): void {
    for (const side of [this.#far, this.#socket]) {
      side.on('error', (error: Error) => {
        this.#error ??= error
      })
      if (side.closed) this.#onClose()
      else side.once('close', () => this.#onClose())
    }
    pass(this.#far, this.#socket, (bytes) => {
      this.#toSocketBytes += bytes
    })
    pass(this.#socket, this.#far, (bytes) => {
      this.#toTunnelBytes += bytes
    })
  }

  #onClose(): void {
    this.#open -= 1
    if (this.#open === 0) {
      this.#resolve({ toSocketBytes: this.#toSocketBytes, toTunnelBytes: this.#toTunnelBytes, error: this.#error })
      return
    }
    if (this.#far.destroyed) cutUnlessDone(this.#far, this.#socket)
    else cutUnlessDone(this.#socket, this.#far)
  }
}

function pass(from: Duplex, to: Duplex, count: (bytes: number) => void): void {
  from.on('data', (chunk: Buffer) => {
    count(chunk.length)
    if (!to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  if (from.readableEnded) to.end()
  else from.once('end', () => to.end())
}

/** Where the side that has gone had said and heard everything, the other only finishes writing. */
function cutUnlessDone(gone: Duplex, other: Duplex): void {
  const isDone = gone.readableEnded && gone.writableFinished && gone.errored === null
  if (!isDone) other.destroy()
}
