/**
 * One TLS connection to the API server, end to end through whatever carries it. Who answers is judged here, after the
 * handshake and before the first byte of a request, by our own verification, so that a fault says what was expected.
 */
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Cancellation } from '../../http/server/ending.ts'
import type { Certificate } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { type PeerCertificates, peerCertificates } from '../../identity/peer.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import { type ClientPair, secureAsClient } from '../../network/tls/client-tls.ts'
import type { Clock } from '../../runtime/clock.ts'
import { UpstreamError } from './upstream.ts'
import { connectFailure, ImpostorError } from './upstream-error.ts'

/** For the answer of the tunnel and the handshake together: three round trips, on the slowest link a few seconds. */
export const UPSTREAM_CONNECT_TIMEOUT_MS = 15_000

export interface ApiServer {
  /** A stream to the API server; may be given before the far end has answered. Rejects with an `OpenError`. */
  readonly open: (signal: AbortSignal) => Promise<Duplex>
  /** Whether what carries a connection is to end, and there is another way: no further request is to go there. */
  readonly isLeaving?: (carrier: Duplex) => boolean
  /** The name or IP address that its certificate must speak for, as learnt at joining. */
  readonly serverName: string
  /** The Kubernetes CA that was pinned at joining. */
  readonly trust: () => readonly Certificate[]
  readonly clock: Clock
}

export interface ConnectOptions {
  readonly protocol: 'h2' | 'http/1.1'
  /** What the connection itself proves. */
  readonly pair: ClientPair | undefined
  readonly signal: Cancellation
}

export interface SecuredConnection {
  readonly socket: TLSSocket
  /** What the tunnel gave. */
  readonly carrier: Duplex
  /** Why it ended: what carries it knows best, TLS only sees that it did. */
  readonly whyLost: () => Error | undefined
}

/** Rejects with an `UpstreamError`, or with the reason of the signal. */
export async function connectToApiServer(server: ApiServer, options: ConnectOptions): Promise<SecuredConnection> {
  const { signal } = options
  if (signal.aborted) throw signal.reason
  const giveUp = new AbortController()
  const obey = (): void => giveUp.abort(signal.reason)
  signal.addEventListener('abort', obey, { once: true })
  const cancelTimer = server.clock.schedule(UPSTREAM_CONNECT_TIMEOUT_MS, () => giveUp.abort(tooLate(server)))
  try {
    const stream = await orAborted(server.open(giveUp.signal), giveUp.signal)
    return await secure(server, options, stream, giveUp.signal)
  } catch (error) {
    if (giveUp.signal.aborted) throw giveUp.signal.reason
    throw connectFailure(error)
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', obey)
  }
}

function tooLate({ serverName }: ApiServer): UpstreamError {
  const seconds = UPSTREAM_CONNECT_TIMEOUT_MS / 1000
  return new UpstreamError('timeout', `no connection to ${serverName} within ${seconds} s`)
}

/** A stream that comes after the abort all the same is not left open. */
async function orAborted(opened: Promise<Duplex>, signal: AbortSignal): Promise<Duplex> {
  let onAbort = (): void => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      reject(signal.reason)
      opened.then((late) => late.destroy()).catch(() => {})
    }
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([opened, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function secure(
  server: ApiServer,
  { protocol, pair }: ConnectOptions,
  stream: Duplex,
  signal: AbortSignal,
): Promise<SecuredConnection> {
  const whyLost = rememberErrors(stream)
  try {
    const socket = await secureAsClient(stream, {
      host: server.serverName,
      protocols: [protocol],
      pair,
      verification: { by: 'judge', judge: (shown) => judge(server, protocol, shown) },
      signal,
    })
    whyLost.follow(socket)
    return { socket, carrier: stream, whyLost: whyLost.ask }
  } catch (error) {
    throw error instanceof UpstreamError ? error : (whyLost.ask() ?? error)
  }
}

/** Why the connection ended: what it runs on knows best. Both are ended together, and no error goes unheard. */
function rememberErrors(stream: Duplex): { ask: () => Error | undefined; follow: (socket: TLSSocket) => void } {
  let fromStream: Error | undefined
  let fromSocket: Error | undefined
  stream.on('error', (error) => {
    fromStream ??= error
  })
  const follow = (socket: TLSSocket): void => {
    stream.on('error', (error) => socket.destroy(error))
    socket.on('error', (error) => {
      fromSocket ??= error
    })
    socket.once('close', () => stream.destroy())
  }
  return { ask: () => fromStream ?? fromSocket, follow }
}

/** Throws unless this is the API server. */
function judge({ serverName, trust, clock }: ApiServer, protocol: string, socket: TLSSocket): void {
  const trusted = trust()
  const peer = readPeer(serverName, socket)
  const verdict = verifyCertificate(peer.certificate, {
    trust: trusted,
    intermediates: peer.intermediates,
    usage: 'serverAuth',
    ifUsageAbsent: 'accept',
    atMs: clock.nowMs(),
    host: serverName,
  })
  if (!verdict.ok) throw certificateFault(serverName, `${verdict.message}; ${expected(serverName, peer, trusted)}`)
  if (socket.alpnProtocol !== protocol)
    throw new ImpostorError(`the API server ${serverName} does not speak ${protocol} (by ALPN)`)
}

function readPeer(serverName: string, socket: TLSSocket): PeerCertificates {
  let peer: PeerCertificates | undefined
  try {
    peer = peerCertificates(socket)
  } catch (cause) {
    throw certificateFault(serverName, 'it cannot be read', cause)
  }
  if (peer === undefined) throw certificateFault(serverName, 'there is none')
  return peer
}

function certificateFault(serverName: string, problem: string, cause?: unknown): ImpostorError {
  return new ImpostorError(`the certificate of the API server ${serverName} is not to be believed: ${problem}`, {
    cause,
  })
}

function expected(serverName: string, { certificate }: PeerCertificates, trust: readonly Certificate[]): string {
  const names = trust.map(({ subject, subjectKeyId }) => `${formatName(subject)} (key id ${subjectKeyId ?? 'unknown'})`)
  return (
    `it names ${formatName(certificate.subject)}, issued by ${formatName(certificate.issuer)}; expected is one for ` +
    `${serverName} from the CA that was pinned at joining, ${names.join('; ')}`
  )
}
