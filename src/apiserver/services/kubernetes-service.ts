/**
 * `default/kubernetes`: the Service under which pods reach the API server, with the addresses where it really is. Made
 * again when somebody deletes it. Servers that share a store are all listed while they live.
 */
import { networkInterfaces } from 'node:os'
import { type Controller, placeOf } from '../controllers/controller.ts'
import type { InternalClient } from '../controllers/internal-client.ts'
import { isActiveNamespace } from '../controllers/namespace-state.ts'
import { SERVER_RECORDS, type ServerAddress } from '../controllers/server-leases.ts'
import { sameValue } from '../kinds/equality.ts'
import { struct } from '../kinds/fields.ts'
import type { Item } from '../objects/item.ts'
import { builtIn } from '../objects/resource.ts'

export interface KubernetesServiceOptions {
  readonly client: InternalClient
  readonly clusterIp: string
  /** Where others reach this server. Absent: nobody but this machine can, and the Service has no endpoints. */
  readonly advertiseAddress?: string | undefined
  /** Known once the server listens. */
  readonly securePort: () => number
  /** The servers on the same store that live; whether this one is among them does not matter. */
  readonly others: () => readonly ServerAddress[]
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

/** Keeps the Service `default/kubernetes` and its endpoints equal to the servers that live. */
export function kubernetesServiceController(options: KubernetesServiceOptions): Controller {
  const { client, advertiseAddress } = options
  const ours = (item: Item): string[] => {
    const place = placeOf(item)
    return place.namespace === namespace && place.name === name ? [name] : []
  }
  return {
    name: 'kubernetes-service',
    sources: [
      ...[services, endpoints, slices].map((resource) => ({ resource, keysOf: ours })),
      { resource: SERVER_RECORDS, keysOf: () => [name] },
    ],
    // The Service may not be there yet, and its port may be an old one.
    firstKeys: [name],
    async reconcile(_key, signal) {
      if (!isActiveNamespace(client, namespace)) return undefined
      const { port, addresses } = servingPlaces(options)
      const writing = { client, signal, port, addresses }
      await writeService(writing, options.clusterIp)
      if (advertiseAddress === undefined) return undefined
      await Promise.all([writeEndpoints(writing), writeSlice(writing)])
      return undefined
    },
  }
}

interface Writing {
  readonly client: InternalClient
  readonly signal: AbortSignal
  readonly port: number
  readonly addresses: readonly string[]
}

/**
 * A Service has one target port, so only servers on the same port can be listed together: those on the port that most
 * have, or on the lowest of several. All servers come to the same result, or they would correct each other for ever.
 */
function servingPlaces({ advertiseAddress, securePort, others }: KubernetesServiceOptions): ServingPlaces {
  const own = securePort()
  if (advertiseAddress === undefined) return { port: own, addresses: [] }
  const byPort = new Map<number, Set<string>>()
  for (const { address, port } of [...others(), { address: advertiseAddress, port: own }])
    byPort.set(port, (byPort.get(port) ?? new Set()).add(address))
  const ranked = [...byPort].sort(([port, all], [other, more]) => more.size - all.size || port - other)
  const [port, addresses] = ranked[0] ?? [own, [advertiseAddress]]
  return { port, addresses: [...addresses].sort() }
}

type ServingPlaces = Pick<Writing, 'port' | 'addresses'>

async function writeService({ client, signal, port }: Writing, clusterIP: string): Promise<void> {
  const ports = [{ name: portName, protocol: 'TCP', port: 443, targetPort: port }]
  const spec = { clusterIP, ports, type: 'ClusterIP', sessionAffinity: 'None' }
  const metadata = { namespace, name, labels: { component: 'apiserver', provider: 'kubernetes' } }
  await client.ensure(services, { apiVersion: 'v1', kind: 'Service', metadata, spec }, signal, (present) =>
    sameValue(struct(present, 'spec')?.['ports'], ports)
      ? undefined
      : { ...present, spec: { ...struct(present, 'spec'), ports } },
  )
}

async function writeEndpoints({ client, signal, port, addresses }: Writing): Promise<void> {
  const subsets = [{ addresses: addresses.map((ip) => ({ ip })), ports: [{ name: portName, port, protocol: 'TCP' }] }]
  const metadata = { namespace, name, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }
  const wanted = { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets }
  await client.ensure(endpoints, wanted, signal, (present) =>
    sameValue(present['subsets'], subsets) ? undefined : { ...present, subsets },
  )
}

async function writeSlice({ client, signal, port, addresses }: Writing): Promise<void> {
  const content = {
    endpoints: addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: [{ name: portName, port, protocol: 'TCP' }],
  }
  const metadata = { namespace, name, labels: { 'kubernetes.io/service-name': name } }
  const { apiVersion, kind } = slices
  await client.ensure(slices, { apiVersion, kind, metadata, addressType: 'IPv4', ...content }, signal, (present) => {
    const isSame = sameValue(present['endpoints'], content.endpoints) && sameValue(present['ports'], content.ports)
    return isSame ? undefined : { ...present, ...content }
  })
}
