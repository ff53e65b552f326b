/**
 * Opens the byte stream that HTTP then runs on: dial (TCP, or whatever the caller brings, such as a tunnel stream), then
 * TLS. Certificates are read for every new connection, so a rotated file needs no restart.
 */
import type { Duplex } from 'node:stream'
import { connectTcp } from '../../network/tcp.ts'
import { type ClientTlsOptions, secureAsClient } from '../../network/tls/client-tls.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type ConnectionConfig, type Material, readMaterial, type TlsSettings } from './connection.ts'
import { TransportError, toTransportError } from './transport-error.ts'

/** For dialling and the TLS handshake together. */
export const DEFAULT_CONNECT_TIMEOUT_MS = 15_000
/** Idle time before the kernel asks whether the peer lives; ten unanswered probes a second apart end the connection. */
const TCP_KEEP_ALIVE_MS = 30_000

export interface DialTarget {
  readonly host: string
  readonly port: number
}

/** Rejects when the target cannot be reached, and as soon as the signal aborts. */
export type Dial = (target: DialTarget, signal: AbortSignal) => Promise<Duplex>

export const dialTcp: Dial = (target, signal) => connectTcp(target, signal, { keepAliveMs: TCP_KEEP_ALIVE_MS })

export interface ConnectorOptions {
  readonly clock: Clock
  readonly dial?: Dial
  readonly connectTimeoutMs?: number
}

export class Connector {
  readonly #connection: ConnectionConfig
  readonly #target: DialTarget
  readonly #secure: boolean
  readonly #clock: Clock
  readonly #dial: Dial
  readonly #timeoutMs: number

  constructor(connection: ConnectionConfig, options: ConnectorOptions) {
    const url = new URL(connection.server)
    this.#connection = connection
    this.#secure = url.protocol === 'https:'
    this.#target = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || (this.#secure ? 443 : 80)) }
    this.#clock = options.clock
    this.#dial = options.dial ?? dialTcp
    this.#timeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS
  }

  /** Rejects with the reason of the signal as soon as that aborts. */
  async connect(caller: AbortSignal): Promise<Duplex> {
    const { server } = this.#connection
    const giveUp = new AbortController()
    const timeout = new TransportError('connect-timeout', `${server}: no connection within ${this.#timeoutMs} ms`)
    const cancel = this.#clock.schedule(this.#timeoutMs, () => giveUp.abort(timeout))
    const obey = (): void => giveUp.abort(caller.reason)
    caller.addEventListener('abort', obey, { once: true })
    try {
      caller.throwIfAborted()
      const stream = await this.#dial(this.#target, giveUp.signal)
      return this.#secure ? await this.#handshake(stream, giveUp.signal) : stream
    } catch (error) {
      if (caller.aborted) throw caller.reason
      throw giveUp.signal.aborted ? timeout : toTransportError(error, server)
    } finally {
      caller.removeEventListener('abort', obey)
      cancel()
    }
  }

  async #handshake(stream: Duplex, signal: AbortSignal): Promise<Duplex> {
    try {
      const options = await tlsOptions(this.#connection.tls, this.#target.host)
      return await secureAsClient(stream, { ...options, protocols: ['http/1.1'], signal })
    } catch (cause) {
      stream.destroy()
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new TransportError('tls', `${this.#connection.server}: TLS: ${reason}`, { cause })
    }
  }
}

async function tlsOptions(
  { serverName, skipVerify, ca, clientCertificate }: TlsSettings,
  host: string,
): Promise<Pick<ClientTlsOptions, 'host' | 'pair' | 'verification'>> {
  const because = 'the connection is configured to believe anybody'
  const caPem = ca && (await readPem(ca, 'the certificate authority'))
  return {
    host: serverName ?? host,
    verification: skipVerify ? { by: 'nobody', because } : { by: 'ca', caPem },
    pair: clientCertificate && {
      certificatePem: await readPem(clientCertificate.certificate, 'the client certificate'),
      keyPem: await readPem(clientCertificate.key, 'the client key'),
    },
  }
}

async function readPem(material: Material, what: string): Promise<string> {
  return (await readMaterial(material, what)).toString('utf8')
}
