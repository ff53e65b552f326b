/** Two Node streams joined in memory, each half closing by itself. (Node has one from version 22 on.) */
import { Duplex } from 'node:stream'

class Half extends Duplex {
  peer: Half | undefined
  #written: (() => void) | undefined

  constructor() {
    super({ allowHalfOpen: true })
  }

  override _read(): void {
    const written = this.#written
    this.#written = undefined
    written?.()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.peer === undefined) return
    this.peer.#written = done
    this.peer.push(chunk)
  }

  override _final(done: () => void): void {
    this.peer?.push(null)
    done()
  }
}

export function duplexPair(): [Duplex, Duplex] {
  const [near, far] = [new Half(), new Half()]
  near.peer = far
  far.peer = near
  return [near, far]
}
