/**
 * How links reach hubs: by whatever carrier gets through, under the certificate and the pinned CA of the moment. And how they
 * find out why a hub ended a session at once: on `causeway/1` it only says go away, on HTTP it says why.
 */
import type { Certificate } from '../../identity/certificate.ts'
import { peerCertificates } from '../../identity/peer.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import type { Dial } from '../../kube/client/connector.ts'
import type { ClientPair } from '../../network/tls/client-tls.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { CarrierMemory } from '../../tunnel/carriers/carrier-memory.ts'
import { type DialHubOptions, dialHub } from '../../tunnel/carriers/dial-hub.ts'
import type { VerifyPeer } from '../../tunnel/carriers/tls-handshake.ts'
import { HubClient } from '../hub/hub-client.ts'
import { tlsCodeOf, tlsError } from '../hub/hub-error.ts'
import type { AskWhy, DialSession } from './session-attempt.ts'

/** Whom an edge believes and what it shows, asked anew for every connection. */
export interface LinkIdentity {
  readonly trust: () => readonly Certificate[]
  readonly pair: () => ClientPair | undefined
}

export interface DialSessionOptions
  extends LinkIdentity,
    Pick<DialHubOptions, 'serverName' | 'carriers' | 'proxy' | 'proxyCa' | 'innerTls' | 'dial'> {
  readonly clock: Clock
  readonly logger: Logger
}

export function createDialSession(options: DialSessionOptions): DialSession {
  const { clock, logger, pair, trust, ...rest } = options
  const memory = new CarrierMemory(clock)
  return async (url, signal) => {
    const verifyPeer = verifyHub(rest.serverName ?? hostOf(url), trust, clock)
    const tls = () => presented(pair())
    const { carrier, kind, via, attempts } = await dialHub({ ...rest, url, signal, clock, memory, tls, verifyPeer })
    for (const { kind: failed, error } of attempts)
      logger.info({ hub: url.origin, failed, why: error.message, instead: kind, via }, 'another carrier got through')
    return carrier
  }
}

/** Only this one hub is asked: another may be of another mind. */
export function createAskWhy({
  clock,
  trust,
  pair,
  dial,
}: LinkIdentity & { readonly clock: Clock; readonly dial?: Dial | undefined }): AskWhy {
  return async (hub, signal) => await new HubClient({ hubs: [hub], clock, trust, pair, dial }).checkIn(signal)
}

function presented(pair: ClientPair | undefined): { readonly cert: string; readonly key: string } {
  if (pair === undefined) throw new Error('this edge has no certificate yet')
  return { cert: pair.certificatePem, key: pair.keyPem }
}

function verifyHub(host: string, trust: () => readonly Certificate[], clock: Clock): VerifyPeer {
  return (socket) => {
    const peer = peerCertificates(socket)
    if (peer === undefined) return tlsError('tls', 'the peer has shown no certificate')
    const { certificate, intermediates } = peer
    const options = { trust: trust(), intermediates, usage: 'serverAuth', atMs: clock.nowMs(), host } as const
    const verdict = verifyCertificate(certificate, options)
    return verdict.ok ? undefined : tlsError(tlsCodeOf(verdict.reason), verdict.message)
  }
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}
