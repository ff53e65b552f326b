/** Two carriers with nothing but memory between them. A test may hold the line, cut it, or make it slow to drain. */
import type { Carrier, CarrierListener } from '../../src/tunnel/carrier.ts'

export class MemoryCarrier implements Carrier {
  readonly description = 'memory'
  peer: MemoryCarrier | undefined
  /** While true nothing that is sent arrives, and senders are told to wait. */
  isHeld = false
  writes = 0
  #listener: CarrierListener | undefined
  #inbox: Uint8Array[] = []
  #held: Uint8Array[] = []
  #isClosed = false
  #isPaused = false

  start(listener: CarrierListener): void {
    this.#listener = listener
  }

  send(buffers: readonly Uint8Array[]): boolean {
    if (this.#isClosed) return false
    this.writes += 1
    this.#held.push(...buffers)
    if (this.isHeld) return false
    this.#flush()
    return true
  }

  release(): void {
    this.isHeld = false
    this.#flush()
    this.#listener?.onDrain()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#deliver()
  }

  close(): void {
    if (!this.isHeld) this.destroy()
  }

  destroy(error?: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    queueMicrotask(() => {
      this.#listener?.onClose(error)
      this.peer?.destroy(error)
    })
  }

  #flush(): void {
    const peer = this.peer
    if (peer === undefined) return
    peer.#inbox.push(...this.#held.splice(0))
    queueMicrotask(() => peer.#deliver())
  }

  #deliver(): void {
    while (!this.#isPaused) {
      const chunk = this.#inbox.shift()
      if (chunk === undefined) return
      this.#listener?.onBytes(chunk)
    }
  }
}

export function memoryCarriers(): [MemoryCarrier, MemoryCarrier] {
  const [near, far] = [new MemoryCarrier(), new MemoryCarrier()]
  near.peer = far
  far.peer = near
  return [near, far]
}
