/**
 * What everybody who mints or checks tokens must agree on, in one ConfigMap without secrets: the cluster's id, how its API
 * server is recognised, and the hub's CA. With it a token can be minted by who may not read the CA's key.
 */
import { type Certificate, certificatePem, readCertificates } from '../../identity/certificate.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { configMaps } from '../../kube/client/kinds.ts'
import type { ConfigMap } from '../../kube/client/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import { ClusterError } from '../shared/cluster-error.ts'
import { Fields } from '../shared/fields.ts'
import { CLUSTER_CONFIG_MAP, labelsOf } from '../shared/names.ts'
import { changeShared, getIfPresent } from '../shared/shared-object.ts'
import type { KubernetesTrust } from './cluster.ts'

const idBytes = 16
const field = { id: 'clusterId', hubCa: 'hub-ca.crt', kubernetesCa: 'ca.crt', apiServerName: 'apiServerName' } as const

export interface ClusterInfo {
  /** Random; the audience of join tokens. */
  readonly id: string
  readonly kubernetes: KubernetesTrust
  /** The CA that signs for edges; its hash is the first part of a join token. */
  readonly hubCa: Certificate
}

export interface ClusterInfoOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly random: Random
}

/** As the hubs of the cluster have published it. */
export async function readClusterInfo({ client, namespace }: ClusterInfoOptions): Promise<ClusterInfo> {
  const object = await getIfPresent(client.resource(configMaps).in(namespace), CLUSTER_CONFIG_MAP)
  if (object === undefined)
    throw new ClusterError(
      `there is no ConfigMap ${namespace}/${CLUSTER_CONFIG_MAP}: no hub has run in this cluster with this namespace yet; ` +
        'start `causeway hub` first, or name its namespace with --namespace',
    )
  const fields = Fields.ofConfigMap(object)
  const source = (name: string): string => `${name} of ${fields.source}`
  const [hubCa] = readCertificates(fields.required(field.hubCa), source(field.hubCa))
  const caPem = fields.required(field.kubernetesCa)
  readCertificates(caPem, source(field.kubernetesCa))
  return {
    id: fields.required(field.id),
    kubernetes: { caPem, apiServerName: fields.required(field.apiServerName) },
    hubCa,
  }
}

/**
 * Publishes what this hub knows and returns the cluster's id. The id is never changed: the first hub's counts, and
 * `knownId` is only for a ConfigMap that somebody removed while hubs were running.
 */
export async function publishClusterInfo(
  { kubernetes, hubCa, knownId }: Omit<ClusterInfo, 'id'> & { readonly knownId?: string | undefined },
  options: ClusterInfoOptions,
): Promise<string> {
  const { client, namespace, random } = options
  const wanted = (id: string): Record<string, string> => ({
    [field.id]: id,
    [field.hubCa]: certificatePem(hubCa),
    [field.kubernetesCa]: kubernetes.caPem,
    [field.apiServerName]: kubernetes.apiServerName,
  })
  const change = (present: ConfigMap | undefined): ConfigMap | undefined => {
    const id = presentId(present) ?? knownId ?? random.bytes(idBytes).toString('hex')
    const data = { ...present?.data, ...wanted(id) }
    if (present !== undefined && Object.entries(data).every(([name, value]) => present.data?.[name] === value))
      return undefined
    return { ...present, metadata: { name: CLUSTER_CONFIG_MAP, namespace, labels: labelsOf() }, data }
  }
  const maps = client.resource(configMaps).in(namespace)
  const published = await changeShared(maps, CLUSTER_CONFIG_MAP, change, options)
  return Fields.ofConfigMap(published ?? {}).required(field.id)
}

function presentId(object: ConfigMap | undefined): string | undefined {
  return object === undefined ? undefined : Fields.ofConfigMap(object).optional(field.id)
}
