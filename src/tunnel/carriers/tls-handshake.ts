/** TLS as a client, on a byte stream that exists already. Whom to believe is decided after it and before the first byte. */
import type { Duplex } from 'node:stream'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import { type ServerVerification, secureAsClient, UntrustedServerError } from '../../network/tls/client-tls.ts'
import { SESSION_PROTOCOL } from '../../protocol/versions.ts'
import { type Patience, within } from './deadline.ts'
import { DialError } from './dial-error.ts'

/** What to present to the hub, in PEM; asked for each connection, so that a rotated pair is used from then on. */
export interface ClientIdentity {
  readonly cert: string
  readonly key: string
  readonly ca?: string
}

/**
 * Looks at the peer's certificate after the handshake; an error means that it is not the hub. An error whose `code` is
 * `hub-untrusted` means: signed by a stranger.
 */
export type VerifyPeer = (socket: TLSSocket) => Error | undefined

export interface HandshakeOptions extends Patience {
  /** For messages: whom we want to reach. */
  readonly what: string
  readonly host: string
  readonly limitMs: number
}

export interface HubHandshakeOptions extends HandshakeOptions {
  readonly protocol: typeof SESSION_PROTOCOL | 'http/1.1'
  readonly identity: ClientIdentity
  readonly verifyPeer: VerifyPeer
}

/** The hub's certificate, for logs. */
export interface HubCertificateSummary {
  readonly commonName: string
  readonly issuer: string
  readonly sha256: string
  readonly notAfter: string
}

export interface HubTls {
  readonly socket: TLSSocket
  readonly certificate: HubCertificateSummary
}

/** With the hub: both sides present certificates, and ours is the only judgement of the hub's. */
export async function handshakeWithHub(stream: Duplex, options: HubHandshakeOptions): Promise<HubTls> {
  const { identity, protocol, verifyPeer, what } = options
  let certificate: HubCertificateSummary | undefined
  const judge = (socket: TLSSocket): void => {
    // Before the judgement: Node's client gives the certificates as X509Certificate objects once only.
    certificate = summaryOf(socket)
    const fault = faultOf(socket, verifyPeer)
    if (fault !== undefined) throw untrusted(what, fault)
    if (protocol === SESSION_PROTOCOL && socket.alpnProtocol !== SESSION_PROTOCOL)
      throw new DialError('alpn', 'handshake', `${what} does not offer ${SESSION_PROTOCOL}`)
  }
  const pair = { certificatePem: identity.cert, keyPem: identity.key }
  const socket = await handshake(stream, { pair, protocol, verification: { by: 'judge', judge } }, options)
  return { socket, certificate: certificate as HubCertificateSummary }
}

function summaryOf(socket: TLSSocket): HubCertificateSummary {
  const {
    subject,
    issuer,
    fingerprint256,
    valid_to: notAfter,
  } = socket.getPeerCertificate() as Partial<PeerCertificate>
  return {
    commonName: String(subject?.CN ?? ''),
    issuer: String(issuer?.CN ?? ''),
    sha256: fingerprint256 ?? '',
    notAfter: notAfter ?? '',
  }
}

/** With somebody in between, known by public CAs or by `ca`; it gets to see no certificate of ours. */
export function handshakeWithMiddleman(
  stream: Duplex,
  options: HandshakeOptions & { readonly ca: string | undefined; readonly caOption: string },
): Promise<TLSSocket> {
  const { ca, what, caOption } = options
  const settings: TlsSettings = { pair: undefined, protocol: 'http/1.1', verification: { by: 'ca', caPem: ca } }
  return handshake(stream, settings, options, (cause) => {
    const problem = `the certificate of ${what} is not trusted here (${cause.reason})`
    return new DialError('certificate', 'handshake', `${problem}; name the CA that signed it with ${caOption}`, {
      cause,
    })
  })
}

interface TlsSettings {
  readonly pair: { readonly certificatePem: string; readonly keyPem: string } | undefined
  readonly protocol: string
  readonly verification: ServerVerification
}

async function handshake(
  stream: Duplex,
  { pair, protocol, verification }: TlsSettings,
  options: HandshakeOptions,
  distrust?: (cause: UntrustedServerError) => DialError,
): Promise<TLSSocket> {
  const { what, host, limitMs, signal: caller } = options
  const late = (): Error =>
    new DialError('timeout', 'handshake', `no TLS handshake with ${what} within ${limitMs / 1000} s`)
  try {
    return await within(options, limitMs, late, (signal) =>
      secureAsClient(stream, { host, protocols: [protocol], pair, verification, signal }),
    )
  } catch (error) {
    stream.destroy()
    if (error instanceof DialError || caller.aborted) throw error
    throw error instanceof UntrustedServerError && distrust !== undefined
      ? distrust(error)
      : handshakeFailure(what, error)
  }
}

function faultOf(socket: TLSSocket, verifyPeer: VerifyPeer): Error | undefined {
  try {
    return verifyPeer(socket)
  } catch (error) {
    return error as Error
  }
}

function untrusted(what: string, fault: Error): DialError {
  if ((fault as { readonly code?: unknown }).code !== 'hub-untrusted')
    return new DialError('certificate', 'handshake', `${what} shows a wrong certificate: ${fault.message}`, {
      cause: fault,
    })
  const advice = 'if a proxy or balancer on the way opens TLS, use --inner-tls; otherwise this is another hub'
  return new DialError('intercepted', 'handshake', `${what} is not our hub: ${fault.message}; ${advice}`, {
    cause: fault,
  })
}

function handshakeFailure(what: string, cause: unknown): DialError {
  const { code = '', message } = cause as NodeJS.ErrnoException
  if (code.endsWith('ALERT_NO_APPLICATION_PROTOCOL'))
    return new DialError('alpn', 'handshake', `${what} speaks none of the protocols we offer`, { cause })
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return new DialError('tls', 'handshake', `${what} does not speak TLS; check the port`, { cause })
  const cut = 'cut off; a firewall may not let it through, or the hub does not serve this name'
  const reason = code === 'ECONNRESET' || code === 'EPIPE' ? cut : message
  return new DialError('tls', 'handshake', `no TLS handshake with ${what}: ${reason}`, { cause })
}
