/** Who gets in, and who does not: connections, callers and decisions. */
import { Counter, type Registry } from 'prom-client'

export type AuthenticationResult = 'success' | 'failure' | 'error'

/** Users that have a name in the metrics; all others are one, since anybody can bring a new name. */
const namedUsers = new Set(['admin', 'kubernetes-admin', 'system:apiserver', 'system:anonymous'])
const otherUser = 'other'

export class AccessMetrics {
  readonly #handshakeErrors: Counter
  readonly #stalledReaders: Counter
  readonly #refusedConnections: Counter
  readonly #attempts: Counter
  readonly #userRequests: Counter
  readonly #authorizations: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    this.#handshakeErrors = new Counter({
      name: 'apiserver_tls_handshake_errors_total',
      help: 'Connections that ended before their TLS handshake did.',
      registers,
    })
    this.#stalledReaders = new Counter({
      name: 'causeway_apiserver_stalled_readers_total',
      help: 'Connections cut, or relieved of unread answers, because their clients do not read what they have asked for.',
      registers,
    })
    this.#refusedConnections = new Counter({
      name: 'causeway_apiserver_connections_refused_total',
      help: 'Connections closed at once because too many were open.',
      registers,
    })
    this.#attempts = new Counter({
      name: 'authentication_attempts',
      help: 'Requests by how their authentication ended: success, failure (no credentials) or error (wrong ones).',
      labelNames: ['result'],
      registers,
    })
    this.#userRequests = new Counter({
      name: 'authenticated_user_requests',
      help: 'Authenticated requests by user; all but a few well-known users are "other".',
      labelNames: ['username'],
      registers,
    })
    this.#authorizations = new Counter({
      name: 'authorization_attempts_total',
      help: 'Requests by what authorization decided: allowed, denied or no-opinion (nobody allowed it).',
      labelNames: ['result'],
      registers,
    })
  }

  handshakeFailed(): void {
    this.#handshakeErrors.inc()
  }

  connectionRefused(): void {
    this.#refusedConnections.inc()
  }

  readerStalled(): void {
    this.#stalledReaders.inc()
  }

  authenticated(result: AuthenticationResult, userName?: string): void {
    this.#attempts.inc({ result })
    if (userName === undefined) return
    this.#userRequests.inc({ username: namedUsers.has(userName) ? userName : otherUser })
  }

  authorized(verdict: 'allow' | 'deny' | 'no-opinion'): void {
    const result = verdict === 'allow' ? 'allowed' : verdict === 'deny' ? 'denied' : 'no-opinion'
    this.#authorizations.inc({ result })
  }
}
