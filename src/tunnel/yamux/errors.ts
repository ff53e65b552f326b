/**
 * Why a session or a stream ended. A session error carries the go-away reason the peer is told, so that whoever handles it
 * needs no table.
 */
import type { GoAwayReason } from './wire.ts'

/** Stable names: they appear in logs and as metric labels. */
export type SessionErrorCode =
  | 'bad-frame'
  | 'window-violation'
  | 'stream-id-reuse'
  | 'ping-flood'
  | 'control-flood'
  | 'open-flood'
  | 'keepalive-timeout'
  | 'peer-went-away'
  | 'carrier-lost'
  | 'internal'
  | 'closed'

export class SessionError extends Error {
  override readonly name = 'SessionError'
  readonly code: SessionErrorCode
  /** What the peer is told; `undefined` where nobody is left to tell. */
  readonly goAway: GoAwayReason | undefined

  constructor(code: SessionErrorCode, message: string, goAway?: GoAwayReason, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.goAway = goAway
  }
}

/** The peer broke the protocol or one of our limits. */
export function offence(code: SessionErrorCode, message: string): SessionError {
  return new SessionError(code, message, 'protocolError')
}

const offences: readonly string[] = [
  'bad-frame',
  'window-violation',
  'stream-id-reuse',
  'ping-flood',
  'control-flood',
  'open-flood',
] satisfies SessionErrorCode[]

/** Whether a session that ended so was ended for what its peer did. */
export function isOffence(code: string): boolean {
  return offences.includes(code)
}

export type StreamErrorCode =
  | 'reset-by-peer'
  | 'reset-locally'
  | 'buffer-limit'
  | 'idle'
  | 'drain-deadline'
  | 'session-ended'
  /** `open` was refused here, before anything was sent. */
  | 'too-many-streams'
  | 'too-many-opens'
  | 'going-away'
  | 'ids-exhausted'

export class StreamError extends Error {
  override readonly name = 'StreamError'
  readonly code: StreamErrorCode

  constructor(code: StreamErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
