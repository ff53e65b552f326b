/**
 * Who is at the other end: the one check for every use of an edge's certificate. Chain, usage and dates, then the subject,
 * then the claim on the name; a later one is not looked at before the earlier ones hold.
 */
import type { Certificate } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { IdentityError } from '../../identity/errors.ts'
import { keyFingerprint } from '../../identity/keys.ts'
import { nodeOfSubject } from '../../identity/node-name.ts'
import { type PeerCertificates, readPresented } from '../../identity/peer.ts'
import { type Verification, verifyCertificate } from '../../identity/verify.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { HeldClaim, KeyFingerprint } from '../claims/claim.ts'
import type { Cluster, HubAuthority } from '../cluster/cluster.ts'
import { Refusal } from '../refusal.ts'
import type { Peer } from './connection.ts'

export interface PeerCheckOptions {
  readonly clock: Clock
  /** How long past its end a certificate still counts: only for asking for a new one. */
  readonly graceMs?: number
}

/** An edge that has proven which node it is. */
export interface EdgePeer {
  readonly node: string
  readonly key: KeyFingerprint
  readonly certificate: Certificate
  readonly claim: HeldClaim
}

export async function checkPeer(peer: Peer, cluster: Cluster, options: PeerCheckOptions): Promise<EdgePeer> {
  const presented = presentedBy(peer)
  const { certificate } = presented
  const issuer = checkCertificate(presented, cluster.authority(), options)
  const node = nodeOfSubject(certificate.subject)
  if (node === undefined)
    throw new Refusal('certificate-invalid', `${formatName(certificate.subject)} is not the name of a node`)
  const key = keyFingerprint(certificate.publicKey)
  const { notBeforeMs, notAfterMs } = certificate
  const claim = await cluster.claims.byCertificate({ node, key, notBeforeMs, notAfterMs, issuer })
  peer.identified()
  return { node, key, certificate, claim }
}

/** What was read of each connection's certificates: a client may ask many things on one, and reading them is slow. */
const alreadyRead = new WeakMap<Peer['certificates'], PeerCertificates | Refusal>()

function presentedBy({ certificates }: Peer): PeerCertificates {
  const presented = alreadyRead.get(certificates) ?? readOnce(certificates)
  alreadyRead.set(certificates, presented)
  if (presented instanceof Refusal) throw presented
  return presented
}

function readOnce(certificates: Peer['certificates']): PeerCertificates | Refusal {
  try {
    const missing = new Refusal('certificate-missing', 'this needs the certificate of a node that has joined')
    return readPresented(certificates, 'client') ?? missing
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error
    return new Refusal('certificate-invalid', error.message, { cause: error })
  }
}

/** Returns the key of the CA that signed it. */
function checkCertificate(
  { certificate, intermediates }: PeerCertificates,
  { trust }: HubAuthority,
  { clock, graceMs = 0 }: PeerCheckOptions,
): KeyFingerprint {
  const atMs = clock.nowMs()
  const result = verifyCertificate(certificate, { trust, intermediates, usage: 'clientAuth', atMs, graceMs })
  if (!result.ok) throw refusalOf(certificate, result, graceMs)
  return keyFingerprint((result.chain[1] ?? certificate).publicKey)
}

type Failed = Extract<Verification, { readonly ok: false }>

/** Only the peer's own end, with nothing else wrong, is told as such: it is what an edge may mend by itself. */
function refusalOf(certificate: Certificate, { failures, reason, message }: Failed, graceMs: number): Refusal {
  const isOnlyExpired = failures.every((each) => each.reason === 'expired' && each.certificate === certificate)
  if (isOnlyExpired) {
    const remedy =
      graceMs > 0
        ? 'too long ago to be renewed; join again with a token for this node: causeway token create --node NAME'
        : 'and can only be used to ask for a new one (POST /edge.crt)'
    return new Refusal('certificate-expired', `${message}, ${remedy}`)
  }
  const clocks = reason === 'not-yet-valid' ? "; compare this machine's clock with the hub's" : ''
  return new Refusal('certificate-invalid', `${message}${clocks}`)
}
