/**
 * The hub's CA and those of Kubernetes must be strangers. A certificate that the hub gives an edge says O=system:nodes: were it
 * signed by a CA that the API server trusts, joining the hub would be joining the cluster, past the signers, the approvals
 * and the rights of Kubernetes, and forgetting a node would take nothing back.
 */
import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { keyFingerprint } from '../../identity/keys.ts'
import { ClusterError } from '../shared/cluster-error.ts'
import type { HubAuthority, KubernetesTrust } from './cluster.ts'

/** Throws a `ClusterError` if a certificate of the hub could lead to a CA of Kubernetes. */
export function checkCaSeparation(hub: HubAuthority, kubernetes: Pick<KubernetesTrust, 'caPem'>): void {
  const theirs = readCertificates(kubernetes.caPem, 'the Kubernetes CA')
  for (const own of [...hub.trust, ...hub.chainAbove]) {
    const shared = theirs.find((ca) => keyFingerprint(ca.publicKey) === keyFingerprint(own.publicKey))
    if (shared !== undefined) throw refused(own, `has the same key as ${nameOf(shared)}, a CA of Kubernetes`)
    const issuer = theirs.find((ca) => own.issuerDer.equals(ca.subjectDer) && own.x509.verify(ca.publicKey))
    if (issuer !== undefined) throw refused(own, `was signed by ${nameOf(issuer)}, a CA of Kubernetes`)
  }
}

function refused(own: Certificate, why: string): ClusterError {
  return new ClusterError(
    `the CA of the hub, ${nameOf(own)}, ${why}: the API server would take every edge certificate for one of its own. ` +
      'Give the hub a CA of its own: leave out --ca-cert and --ca-key to have one made, or make one that nothing else uses',
  )
}

function nameOf({ subject, fingerprint }: Certificate): string {
  return `${formatName(subject)} (SHA-256 ${fingerprint.slice(0, 16)})`
}
