/** What an edge may ask of a hub over HTTP: the paths, and in which form what is signed travels. docs/protocol.md explains each. */

export const HUB_PATHS = {
  /** The CAs by which a hub shows who it is, and signs for edges. */
  hubCa: '/ca.crt',
  /** The CAs of the cluster's API server. */
  kubernetesCa: '/k8s/ca.crt',
  /** A certificate for a new node, or for the next key of one. */
  edgeCertificate: '/edge.crt',
  /** What the hub makes of the certificate that is shown. */
  node: '/v1/node',
  /** A token for the kube-proxy of the node. */
  kubeProxyToken: '/v1/tokens/kube-proxy',
  /** Which group versions the API server of the node's cluster serves itself. */
  apiGroups: '/v1/api-groups',
  /** Where an HTTP/1.1 connection becomes the carrier of a session. */
  tunnel: '/v1/tunnel',
} as const

/** Group versions that a hub tells: a cluster with a hundred operators has some hundreds. Of those beyond nothing is said. */
export const MAX_TOLD_GROUP_VERSIONS = 2_048
/** Of one of them: a DNS subdomain, a slash and a DNS label. */
export const MAX_GROUP_VERSION_CHARACTERS = 317

/** What a node may have its cluster sign. `serving`: for the edge endpoint. `client`: for the node's own requests to the API server. */
export const CERTIFICATE_PURPOSES = ['serving', 'client'] as const
export type CertificatePurpose = (typeof CERTIFICATE_PURPOSES)[number]

export function certificatePath(purpose: CertificatePurpose): string {
  return `/v1/certificates/${purpose}`
}

/** Media type of signing requests and certificates. */
export const PEM_MEDIA_TYPE = 'application/x-pem-file'
