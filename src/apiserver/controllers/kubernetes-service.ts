/**
 * `default/kubernetes`: the Service under which pods reach the API server, with the addresses where it really is. Made
 * again when somebody deletes it.
 */
import { networkInterfaces } from 'node:os'
import type { KubeObject } from '../../kube/objects.ts'
import { sameValue } from '../kinds/equality.ts'
import { struct, structs, text, texts } from '../kinds/fields.ts'
import { type Controller, placeOf } from './controller.ts'
import { builtIn, type InternalClient } from './internal-client.ts'
import { isActiveNamespace } from './namespace-state.ts'

export interface KubernetesServiceOptions {
  readonly client: InternalClient
  readonly clusterIp: string
  /** Where others reach this server. Absent: nobody but this machine can, and the Service has no endpoints. */
  readonly advertiseAddress?: string
  /** Known once the server listens. */
  securePort(): number
  /** Other servers may share the store: their addresses are kept beside ours. */
  readonly sharesStore: boolean
}

const namespace = 'default'
const name = 'kubernetes'
const services = builtIn('v1', 'services')
const endpoints = builtIn('v1', 'endpoints')
const slices = builtIn('discovery.k8s.io/v1', 'endpointslices')
const portName = 'https'

/** An address of this machine that others can reach, IPv4 as the Service range is; undefined if it has none. */
export function findAdvertiseAddress(interfaces = networkInterfaces()): string | undefined {
  const all = Object.values(interfaces).flatMap((list) => list ?? [])
  return all.find(({ family, internal, address }) => family === 'IPv4' && !internal && !address.startsWith('169.254.'))
    ?.address
}

/** The key of the look at the start: the Service may not be there yet, and its port may be an old one. */
export const SERVER_STARTED = 'started'

export function kubernetesServiceController(options: KubernetesServiceOptions): Controller {
  const { client, sharesStore, advertiseAddress } = options
  const sources = [services, endpoints, slices].map((resource) => ({
    resource,
    keysOf: (item: Parameters<typeof placeOf>[0]): string[] => {
      const place = placeOf(item)
      return place.namespace === namespace && place.name === name ? [name] : []
    },
  }))
  return {
    name: 'kubernetes-service',
    sources,
    firstKeys: [SERVER_STARTED],
    async reconcile(key, signal) {
      if (!isActiveNamespace(client, namespace)) return undefined
      // Servers that share a store may listen on different ports. The last one to start decides; a server that always
      // insisted on its own would write for ever.
      const keepsPorts = sharesStore && key !== SERVER_STARTED
      const writing = { client, signal, options, keepsPorts }
      await writeService(writing)
      if (advertiseAddress === undefined) return undefined
      await Promise.all([writeEndpoints(writing, advertiseAddress), writeSlice(writing, advertiseAddress)])
      return undefined
    },
  }
}

interface Writing {
  readonly client: InternalClient
  readonly signal: AbortSignal
  readonly options: KubernetesServiceOptions
  readonly keepsPorts: boolean
}

async function writeService({ client, signal, options, keepsPorts }: Writing): Promise<void> {
  const ports = [{ name: portName, protocol: 'TCP', port: 443, targetPort: options.securePort() }]
  const spec = { clusterIP: options.clusterIp, ports, type: 'ClusterIP', sessionAffinity: 'None' }
  const metadata = { namespace, name, labels: { component: 'apiserver', provider: 'kubernetes' } }
  await client.ensure(services, { apiVersion: 'v1', kind: 'Service', metadata, spec }, signal, (present) =>
    keepsPorts || sameValue(struct(present, 'spec')?.['ports'], ports)
      ? undefined
      : { ...present, spec: { ...struct(present, 'spec'), ports } },
  )
}

async function writeEndpoints(writing: Writing, address: string): Promise<void> {
  const subsetsFor = (present: KubeObject | undefined): object[] => {
    const before = structs(present, 'subsets')
    const known = before.flatMap((subset) => structs(subset, 'addresses').map((entry) => text(entry, 'ip')))
    const addresses = addressesWith(writing, known, address).map((ip) => ({ ip }))
    return [{ addresses, ports: servingPorts(writing, structs(before[0], 'ports')) }]
  }
  const metadata = { namespace, name, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }
  const wanted = { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets: subsetsFor(undefined) }
  await writing.client.ensure(endpoints, wanted, writing.signal, (present) => {
    const subsets = subsetsFor(present)
    return sameValue(present['subsets'], subsets) ? undefined : { ...present, subsets }
  })
}

async function writeSlice(writing: Writing, address: string): Promise<void> {
  const contentFor = (present: KubeObject | undefined): { endpoints: object[]; ports: object[] } => {
    const known = structs(present, 'endpoints').flatMap((endpoint) => texts(endpoint, 'addresses'))
    return {
      endpoints: addressesWith(writing, known, address).map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
      ports: servingPorts(writing, structs(present, 'ports')),
    }
  }
  const wanted = {
    apiVersion: slices.apiVersion,
    kind: slices.kind,
    metadata: { namespace, name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ...contentFor(undefined),
  }
  await writing.client.ensure(slices, wanted, writing.signal, (present) => {
    const content = contentFor(present)
    const isSame = sameValue(present['endpoints'], content.endpoints) && sameValue(present['ports'], content.ports)
    return isSame ? undefined : { ...present, ...content }
  })
}

function addressesWith({ options }: Writing, known: readonly string[], own: string): string[] {
  return options.sharesStore ? [...new Set([...known, own])].sort() : [own]
}

function servingPorts({ options, keepsPorts }: Writing, present: readonly object[]): object[] {
  if (keepsPorts && present.length > 0) return [...present]
  return [{ name: portName, port: options.securePort(), protocol: 'TCP' }]
}
