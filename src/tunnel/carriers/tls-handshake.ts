/** TLS as a client, on a byte stream that exists already. Whom to believe is decided after it and before the first byte. */
import { once } from 'node:events'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls'
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
  // The chain is judged by `verifyPeer`, which knows the pinned CA and says what is wrong in words.
  const socket = await handshake(stream, { ...identity, ALPNProtocols: [protocol], rejectUnauthorized: false }, options)
  // Before the judgement: Node's client gives the certificates as X509Certificate objects once only.
  const certificate = summaryOf(socket)
  const fault = judge(socket, verifyPeer)
  if (fault !== undefined) {
    socket.destroy()
    throw untrusted(what, fault)
  }
  if (protocol === SESSION_PROTOCOL && socket.alpnProtocol !== SESSION_PROTOCOL) {
    socket.destroy()
    throw new DialError('alpn', 'handshake', `${what} does not offer ${SESSION_PROTOCOL}`)
  }
  return { socket, certificate }
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
  const settings = { ...(ca === undefined ? {} : { ca }), ALPNProtocols: ['http/1.1'], rejectUnauthorized: true }
  return handshake(stream, settings, options, (reason, cause) => {
    const message = `the certificate of ${what} is not trusted here (${reason}); name the CA that signed it with ${caOption}`
    return new DialError('certificate', 'handshake', message, { cause })
  })
}

async function handshake(
  stream: Duplex,
  settings: ConnectionOptions,
  options: HandshakeOptions,
  distrust?: (reason: string, cause: unknown) => DialError,
): Promise<TLSSocket> {
  const { what, limitMs, signal: caller } = options
  const late = (): Error =>
    new DialError('timeout', 'handshake', `no TLS handshake with ${what} within ${limitMs / 1000} s`)
  let socket: TLSSocket | undefined
  try {
    const begun = beginTls(stream, settings, options)
    socket = begun
    await within(options, limitMs, late, async (signal) => void (await once(begun, 'secureConnect', { signal })))
    return socket
  } catch (error) {
    const reason = socket?.authorizationError as unknown
    socket?.destroy()
    stream.destroy()
    if (error instanceof DialError || caller.aborted) throw error
    throw typeof reason === 'string' && distrust !== undefined ? distrust(reason, error) : handshakeFailure(what, error)
  }
}

function beginTls(stream: Duplex, settings: ConnectionOptions, { host }: HandshakeOptions): TLSSocket {
  const servername = isIP(host) === 0 ? { servername: host } : {}
  const socket = connectTls({ socket: stream, host, ...servername, minVersion: 'TLSv1.2', ...settings })
  // Whoever takes the socket over listens too; an error in between must not end the process.
  socket.on('error', () => {})
  return socket
}

function judge(socket: TLSSocket, verifyPeer: VerifyPeer): Error | undefined {
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
