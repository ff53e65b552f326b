/** Why a hub could not be reached, in codes a program can act on and sentences that say what to do. */

export type DialCode =
  | 'dns'
  | 'refused'
  | 'unreachable'
  | 'timeout'
  /** The proxy did not let us through, or is not a proxy. */
  | 'proxy'
  /** No TLS handshake: cut, or refused by an alert. */
  | 'tls'
  /** The handshake was fine, the certificate shown in it is not. */
  | 'certificate'
  /** Somebody between us and the hub opens TLS. */
  | 'intercepted'
  /** What answers does not speak `causeway/1`. */
  | 'alpn'
  /** An HTTP answer instead of a WebSocket. */
  | 'upgrade'

/** How far the attempt came. */
export type DialPhase = 'connect' | 'proxy' | 'handshake' | 'upgrade'

/** The hub's own words, where it answered the request for a WebSocket with a refusal. */
export interface UpgradeRefusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly retryAfterSeconds?: number | undefined
  /** Said before the hub has proven to be one, as it is around inner TLS: whatever is on the way can say it too. */
  readonly isUnproven?: true
}

/** One carrier that was tried and did not work. */
export interface FailedAttempt {
  readonly kind: CarrierKind
  readonly error: DialError
}

export type CarrierKind = 'tls' | 'websocket' | 'websocket+inner-tls'

export interface DialErrorOptions extends ErrorOptions {
  readonly refusal?: UpgradeRefusal | undefined
  readonly earlier?: readonly FailedAttempt[]
}

export class DialError extends Error {
  override readonly name = 'DialError'
  readonly code: DialCode
  readonly phase: DialPhase
  readonly refusal: UpgradeRefusal | undefined
  /** What was tried before this, in order. */
  readonly earlier: readonly FailedAttempt[]

  constructor(code: DialCode, phase: DialPhase, message: string, options: DialErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.phase = phase
    this.refusal = options.refusal
    this.earlier = options.earlier ?? []
  }

  /** This failure, told as the last of several attempts. */
  after(earlier: readonly FailedAttempt[]): DialError {
    if (earlier.length === 0) return this
    const before = earlier.map(({ kind, error }) => `${kind} failed before that: ${error.message}`).join('; ')
    const { cause, refusal } = this
    return new DialError(this.code, this.phase, `${this.message} (${before})`, {
      cause,
      earlier,
      refusal,
    })
  }
}

const codeOfErrno: Readonly<Record<string, DialCode>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  EAI_NODATA: 'dns',
  ECONNREFUSED: 'refused',
  ECONNRESET: 'refused',
  ETIMEDOUT: 'timeout',
}

const adviceOf: Partial<Record<DialCode, string>> = {
  dns: 'the name does not resolve; check it and the DNS servers of this machine',
  refused: 'nothing listens there; check the port, and that it runs',
  timeout: 'no answer; a firewall may swallow the packets',
  unreachable: 'there is no way to this address; check routes and firewalls',
}

/** A TCP connection that did not come about. `what` is, for example, `the hub hub.example:10000`. */
export function connectFailure(what: string, phase: 'connect' | 'proxy', cause: unknown): DialError {
  const { code: errno = '', message } = cause as NodeJS.ErrnoException
  const code = codeOfErrno[errno] ?? 'unreachable'
  const detail = errno === '' ? message : errno
  return new DialError(code, phase, `cannot connect to ${what}: ${adviceOf[code] ?? message} (${detail})`, { cause })
}
