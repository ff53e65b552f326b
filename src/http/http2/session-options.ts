/** What a session is made with, and what it tells. */
import type { Http2Stream, StreamHandler } from './stream.ts'
import type { Http2Error } from './wire.ts'

export interface SessionOptions {
  readonly role: 'client' | 'server'
  /** Receive window of each stream, at first. */
  readonly streamWindowBytes: number
  readonly connectionWindowBytes: number
  /** Streams that the peer may have open. */
  readonly maxPeerStreams: number
  /** Bytes of one head or trailer, names and values and 32 bytes for each. */
  readonly maxHeadBytes: number
  readonly maxHeadFields: number
  readonly nowMs: () => number
}

export interface SessionEvents {
  /** The peer has opened a stream, with a body to come or without. Absent for clients, whose servers open none. */
  onStream?(stream: Http2Stream, fields: readonly string[], hasBody: boolean): StreamHandler
  /** The peer takes so many streams at a time. */
  onPeerLimit(streams: number): void
  /** The peer takes no more streams here; those under way go on. */
  onGoAway(): void
  onPong(payload: Buffer): void
  /** Called when `bytes` more of bodies wait to be sent, or fewer where it is negative. */
  onQueued?(bytes: number): void
  /**
   * One of the two has broken the protocol; told before the streams, which are closed next. What is to be sent is the last,
   * then the connection is to end.
   */
  onFailure(error: Http2Error): void
}
