/**
 * One HTTPS request to one hub. TLS only carries it: whether the peer is the hub is decided here, after the handshake and
 * before the first byte of the request is sent, by our own verification, so that each fault has its own code.
 */
import { type IncomingMessage, request as sendRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Certificate } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { type PeerCertificates, peerCertificates } from '../../identity/peer.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import { type Dial, type DialTarget, dialTcp } from '../../kube/client/connector.ts'
import { toTransportError } from '../../kube/client/transport-error.ts'
import { type ClientPair, secureAsClient } from '../../network/tls/client-tls.ts'
import type { Clock } from '../../runtime/clock.ts'
import { fromTransport, HubError, networkError, tlsCodeOf, tlsError } from './hub-error.ts'

/** For dialling and the TLS handshake together: a hub on the other side of the world needs a second. */
export const HUB_CONNECT_TIMEOUT_MS = 15_000
/** From the request to the end of its answer, unless the caller knows that the hub takes longer. */
export const HUB_ANSWER_TIMEOUT_MS = 30_000
/** Interim answers (1xx) before the real one. A hub sends none, and what is on the way few. */
export const MAX_INTERIM_ANSWERS = 16
/** The largest answer is a bundle of CAs, for which PEM files have the same limit. */
export const MAX_HUB_ANSWER_BYTES = 1024 * 1024

/** Who the peer has to be. `unverified` may only ever ask for what is checked by other means. */
export type HubTrust = 'unverified' | readonly Certificate[]

export interface HubRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly answerTimeoutMs?: number
}

export interface HubAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  /** What the hub sent along with its certificate: CAs on the way to one that is trusted, cross-certificates. */
  readonly sentAlong: readonly Certificate[]
  /** The hub's clock; only as good as the trust in the peer. */
  readonly hubTimeMs: number | undefined
}

export interface ExchangeOptions {
  readonly clock: Clock
  readonly trust: HubTrust
  readonly pair?: ClientPair | undefined
  /** How to reach an address: a proxy plugs in here. */
  readonly dial?: Dial | undefined
  readonly signal?: AbortSignal | undefined
}

/** Rejects with a `HubError`, or with the reason of the caller's signal. */
export async function exchange(hub: URL, request: HubRequest, options: ExchangeOptions): Promise<HubAnswer> {
  const { clock, signal: caller } = options
  caller?.throwIfAborted()
  const giveUp = new AbortController()
  const obey = (): void => giveUp.abort(caller?.reason)
  caller?.addEventListener('abort', obey, { once: true })
  const limit = (ms: number, what: string): (() => void) =>
    clock.schedule(ms, () => giveUp.abort(networkError('timeout', `${hub.origin}: ${what} within ${ms / 1000} s`)))
  const cancelConnect = limit(HUB_CONNECT_TIMEOUT_MS, 'no connection')
  let cancelAnswer = (): void => {}
  try {
    const { socket, sentAlong } = await connect(hub, options, giveUp.signal)
    cancelConnect()
    cancelAnswer = limit(request.answerTimeoutMs ?? HUB_ANSWER_TIMEOUT_MS, 'no answer')
    return { ...(await talk(hub, socket, request, giveUp.signal)), sentAlong }
  } catch (error) {
    if (giveUp.signal.aborted) throw giveUp.signal.reason
    throw error instanceof HubError ? error : fromTransport(toTransportError(error, hub.origin))
  } finally {
    cancelConnect()
    cancelAnswer()
    caller?.removeEventListener('abort', obey)
  }
}

interface Connected {
  readonly socket: TLSSocket
  readonly sentAlong: readonly Certificate[]
}

async function connect(hub: URL, options: ExchangeOptions, signal: AbortSignal): Promise<Connected> {
  const { dial = dialTcp, pair } = options
  const target = targetOf(hub)
  let sentAlong: readonly Certificate[] = []
  const judge = (shown: TLSSocket): void => {
    sentAlong = verifyHub(hub, shown, options)
  }
  const stream = await dial(target, signal)
  try {
    const socket = await secureAsClient(stream, {
      host: target.host,
      protocols: ['http/1.1'],
      pair,
      verification: { by: 'judge', judge },
      signal,
    })
    return { socket, sentAlong }
  } catch (cause) {
    if (signal.aborted || cause instanceof HubError || (cause as NodeJS.ErrnoException).code === 'ECONNRESET')
      throw cause
    throw tlsError('tls', `${hub.origin}: no TLS handshake: ${(cause as Error).message}`, { cause })
  }
}

function verifyHub(hub: URL, socket: TLSSocket, { trust, clock }: ExchangeOptions): readonly Certificate[] {
  if (trust === 'unverified') return []
  const peer = readPeer(hub, socket)
  const { host } = targetOf(hub)
  const { certificate, intermediates } = peer
  const atMs = clock.nowMs()
  const verdict = verifyCertificate(certificate, { trust, intermediates, usage: 'serverAuth', atMs, host })
  if (verdict.ok) return intermediates
  const code = tlsCodeOf(verdict.reason)
  const problem = code === 'hub-untrusted' ? untrusted(peer, trust) : verdict.message
  throw tlsError(code, `${hub.origin}: ${problem}`)
}

/** CAs of one program often have one name, so only their keys tell them apart. */
function untrusted({ certificate }: PeerCertificates, trust: readonly Certificate[]): string {
  const issuerKey = certificate.authorityKeyId === undefined ? '' : ` (key id ${certificate.authorityKeyId})`
  const trusted = trust.map(
    ({ subject, subjectKeyId }) => `${formatName(subject)} (key id ${subjectKeyId ?? 'unknown'})`,
  )
  return (
    `the certificate of the hub, ${formatName(certificate.subject)}, was issued by ${formatName(certificate.issuer)}` +
    `${issuerKey}, and no CA that is trusted here vouches for that one; trusted are ${trusted.join('; ')}`
  )
}

function readPeer(hub: URL, socket: TLSSocket): PeerCertificates {
  try {
    const peer = peerCertificates(socket)
    if (peer !== undefined) return peer
  } catch (cause) {
    throw tlsError('tls', `${hub.origin}: the certificate of the peer cannot be read`, { cause })
  }
  throw tlsError('tls', `${hub.origin}: the peer presented no certificate`)
}

async function talk(
  hub: URL,
  socket: Duplex,
  request: HubRequest,
  signal: AbortSignal,
): Promise<Omit<HubAnswer, 'sentAlong'>> {
  const { method, path, headers = {}, body } = request
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = sendRequest({
        method,
        path,
        signal,
        headers: {
          ...headers,
          host: hub.host,
          ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
        },
        createConnection: () => socket,
      })
      let interim = 0
      outgoing.on('information', () => {
        interim += 1
        if (interim > MAX_INTERIM_ANSWERS)
          outgoing.destroy(networkError('protocol', `${hub.origin}: more than ${MAX_INTERIM_ANSWERS} interim answers`))
      })
      outgoing.on('response', resolve)
      outgoing.on('error', reject)
      outgoing.end(body)
    })
    return {
      status: answer.statusCode ?? 0,
      headers: answer.headers,
      body: await readAnswer(hub, answer),
      hubTimeMs: timeOf(answer.headers.date),
    }
  } finally {
    socket.destroy()
  }
}

async function readAnswer(hub: URL, answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let total = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    total += chunk.length
    if (total > MAX_HUB_ANSWER_BYTES)
      throw networkError('answer-too-large', `${hub.origin}: the answer exceeds ${MAX_HUB_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function timeOf(date: string | undefined): number | undefined {
  const ms = date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(ms) ? undefined : ms
}

function targetOf(hub: URL): DialTarget {
  return { host: hub.hostname.replace(/^\[|\]$/g, ''), port: Number(hub.port || 443) }
}
