/**
 * Why a hub gave no answer we can use, in codes a program can act on. The hub's own refusals keep the code the hub gave them;
 * that list belongs to the hub, so a code unknown here is carried along and judged by its HTTP status.
 */
import type { VerificationReason } from '../../identity/verify.ts'
import type { TransportError, TransportErrorCode } from '../../kube/client/transport-error.ts'

/** Why there was no answer at all. */
export type HubNetworkCode = 'dns' | 'refused' | 'unreachable' | 'timeout' | 'reset' | 'protocol' | 'answer-too-large'

/** Somebody answered who is not, or cannot be shown to be, the hub. */
export type HubTlsCode =
  /** Not signed by the pinned CA: something on the way opens TLS, or this is another hub. */
  | 'hub-untrusted'
  /** The hub's certificate does not speak for the address we used. */
  | 'hub-wrong-host'
  | 'hub-expired'
  | 'hub-not-yet-valid'
  /** The handshake failed, or the certificate has another fault. */
  | 'tls'

export type HubErrorKind = 'network' | 'tls' | 'refusal'

export interface HubErrorOptions extends ErrorOptions {
  readonly retryable: boolean
  readonly retryAfterMs?: number | undefined
  /** The hub's clock when it refused. */
  readonly hubTimeMs?: number | undefined
  /** Further members of the refusal. */
  readonly details?: Readonly<Record<string, unknown>>
}

export class HubError extends Error {
  override readonly name = 'HubError'
  readonly kind: HubErrorKind
  /** A `HubNetworkCode`, a `HubTlsCode`, a `HubRefusalCode`, or a refusal of a later hub that this program does not know. */
  readonly code: string
  /** Whether the same request may succeed later without anybody doing anything. */
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
  readonly hubTimeMs: number | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(kind: HubErrorKind, code: string, message: string, options: HubErrorOptions) {
    super(message, options)
    this.kind = kind
    this.code = code
    this.retryable = options.retryable
    this.retryAfterMs = options.retryAfterMs
    this.hubTimeMs = options.hubTimeMs
    this.details = options.details ?? {}
  }
}

export function networkError(code: HubNetworkCode, message: string, options: ErrorOptions = {}): HubError {
  return new HubError('network', code, message, { ...options, retryable: true })
}

export function tlsError(code: HubTlsCode, message: string, options: ErrorOptions = {}): HubError {
  return new HubError('tls', code, message, { ...options, retryable: false })
}

const networkCodes: Readonly<Record<TransportErrorCode, HubNetworkCode>> = {
  refused: 'refused',
  unreachable: 'unreachable',
  dns: 'dns',
  tls: 'reset',
  'connect-timeout': 'timeout',
  'headers-timeout': 'timeout',
  'body-timeout': 'timeout',
  reset: 'reset',
  protocol: 'protocol',
  'too-large': 'answer-too-large',
  closed: 'reset',
}

export function fromTransport(error: TransportError): HubError {
  return networkError(networkCodes[error.code], error.message, { cause: error })
}

/** What a fault that our own verification found means for somebody who wants to reach the hub. */
export function tlsCodeOf(reason: VerificationReason): HubTlsCode {
  switch (reason) {
    case 'untrusted':
    case 'bad-signature':
      return 'hub-untrusted'
    case 'wrong-host':
      return 'hub-wrong-host'
    case 'expired':
      return 'hub-expired'
    case 'not-yet-valid':
      return 'hub-not-yet-valid'
    default:
      return 'tls'
  }
}
