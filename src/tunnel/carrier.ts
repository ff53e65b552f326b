/**
 * What carries the bytes of a session. A carrier delivers bytes in order or ends; it does not know what they mean. TLS
 * sockets, WebSockets and pipes in tests all look like this.
 */
export interface Carrier {
  /** For logs: the kind and the far end, for example `tls 192.0.2.7:41234`. */
  readonly description: string
  /** Starts delivery. Called once; nothing is delivered before. */
  start(listener: CarrierListener): void
  /**
   * Sends the buffers in order, as one write where the carrier can. They must not be changed afterwards. False means: taken,
   * but wait for `onDrain` before sending more. After `onClose` it does nothing.
   */
  send(buffers: readonly Uint8Array[]): boolean
  /** Delivers no more than what is under way, until `resume`. */
  pause(): void
  resume(): void
  /** Sends what it was given, then closes; `onClose` follows when the far end has closed too. */
  close(): void
  /** Closes at once; `onClose` follows. */
  destroy(): void
}

export interface CarrierListener {
  /** Bytes, which are the listener's to keep. */
  onBytes(chunk: Uint8Array): void
  onDrain(): void
  /** Called exactly once, last. `error` is absent where the far end closed in good order. */
  onClose(error?: Error): void
}
