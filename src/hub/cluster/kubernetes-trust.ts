/** How edges will recognise the cluster's API server: by what this hub's own connection trusts. */
import { isIP } from 'node:net'
import { certificatePem, readCertificates } from '../../identity/certificate.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type ConnectionConfig, readMaterial } from '../../kube/client/connection.ts'
import { configMaps } from '../../kube/client/kinds.ts'
import { isForbidden } from '../../kube/status/predicates.ts'
import { ClusterError } from '../shared/cluster-error.ts'
import { getIfPresent } from '../shared/shared-object.ts'
import type { KubernetesTrust } from './cluster.ts'

const rootCaConfigMap = 'kube-root-ca.crt'
const rootCaField = 'ca.crt'
/** In every API server's certificate, while the address of the Service may not be. */
const inClusterName = 'kubernetes.default.svc'

export interface KubernetesTrustOptions {
  readonly client: KubeClient
  readonly namespace: string
  /** A PEM file to use in place of what the connection trusts. */
  readonly caFile?: string | undefined
  readonly apiServerName?: string | undefined
}

export async function findKubernetesTrust(options: KubernetesTrustOptions): Promise<KubernetesTrust> {
  const { pem, source } = await findCa(options)
  // Only the certificates: people keep keys in the same file, and this text is handed to everybody.
  const caPem = certificatePem(...readCertificates(pem, source))
  return { caPem, apiServerName: options.apiServerName ?? apiServerNameOf(options.client.connection) }
}

async function findCa({ client, namespace, caFile }: KubernetesTrustOptions): Promise<{ pem: string; source: string }> {
  const { tls, source: connection } = client.connection
  const material = caFile === undefined ? tls.ca : { file: caFile }
  if (material !== undefined) {
    const source = 'file' in material ? material.file : `the certificate authority of ${connection}`
    return { pem: (await readMaterial(material, 'the Kubernetes CA')).toString('latin1'), source }
  }
  for (const place of [namespace, 'kube-system', 'default']) {
    const pem = await rootCaIn(client, place)
    if (pem !== undefined) return { pem, source: `ConfigMap ${place}/${rootCaConfigMap}` }
  }
  throw new ClusterError(
    `cannot tell which CA signed the API server's certificate: ${connection} names none, ` +
      `and the cluster has no ConfigMap ${rootCaConfigMap}; set certificate-authority in the kubeconfig`,
  )
}

async function rootCaIn(client: KubeClient, namespace: string): Promise<string | undefined> {
  try {
    const object = await getIfPresent(client.resource(configMaps).in(namespace), rootCaConfigMap)
    return object?.data?.[rootCaField] || undefined
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
}

function apiServerNameOf({ tls, server, credentials }: ConnectionConfig): string {
  if (tls.serverName !== undefined) return tls.serverName
  const host = new URL(server).hostname.replace(/^\[|\]$/g, '')
  // A pod is given the Service's address; what the certificate is sure to have is the Service's name.
  const isPod = isIP(host) !== 0 && credentials.type === 'token' && 'file' in credentials.token
  return isPod && isServiceAccountFile(credentials.token.file) ? inClusterName : host
}

function isServiceAccountFile(file: string): boolean {
  return file.endsWith('/serviceaccount/token')
}
