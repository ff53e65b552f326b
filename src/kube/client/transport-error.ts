/** What can go wrong between us and an HTTP answer, in a closed set of codes; the original error stays as `cause`. */

export type TransportErrorCode =
  /** Nobody listens there, or the tunnel refused the target. */
  | 'refused'
  | 'unreachable'
  | 'dns'
  /** The handshake failed: unknown authority, wrong name, expired, client certificate rejected. */
  | 'tls'
  | 'connect-timeout'
  /** Connected, but no answer came. */
  | 'headers-timeout'
  /** The answer began and then fell silent. */
  | 'body-timeout'
  /** The connection broke. */
  | 'reset'
  /** The other side does not speak HTTP as we understand it, or sent more than a named limit. */
  | 'protocol'
  | 'too-large'
  /** The transport was closed by its owner. */
  | 'closed'

export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code: TransportErrorCode

  constructor(code: TransportErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** System and undici codes, and names where there is no code, that mean one thing only; everything else on a socket counts as a broken connection. */
const knownCodes: Readonly<Record<string, TransportErrorCode>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ETIMEDOUT: 'unreachable',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  UND_ERR_HEADERS_TIMEOUT: 'headers-timeout',
  UND_ERR_BODY_TIMEOUT: 'body-timeout',
  HTTPParserError: 'protocol',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  UND_ERR_INVALID_ARG: 'protocol',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'protocol',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'too-large',
  UND_ERR_CLOSED: 'closed',
  UND_ERR_DESTROYED: 'closed',
}

export function toTransportError(cause: unknown, server: string): TransportError {
  if (cause instanceof TransportError) return cause
  const { code, message } = describe(cause)
  return new TransportError(transportCode(code), `${server}: ${message}`, { cause })
}

function transportCode(code: string): TransportErrorCode {
  const known = knownCodes[code]
  if (known !== undefined) return known
  return code.startsWith('HPE_') ? 'protocol' : 'reset'
}

function describe(cause: unknown): { code: string; message: string } {
  if (!(cause instanceof Error)) return { code: '', message: String(cause) }
  // Several addresses were tried: the first failure speaks for all.
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : undefined
  const code = (cause as NodeJS.ErrnoException).code ?? cause.name
  return { code, message: cause.message || (first instanceof Error ? first.message : code) }
}
