/** An IPAddress for every ClusterIP, so that `kubectl get ipaddresses` tells which Service has which. */
import type { KubeObject } from '../../kube/objects.ts'
import { struct, text, texts } from '../kinds/fields.ts'
import type { Controller } from './controller.ts'
import { builtIn, type InternalClient } from './internal-client.ts'

const addresses = builtIn('networking.k8s.io/v1', 'ipaddresses')
const services = builtIn('v1', 'services')
const managedBy = 'ipallocator.k8s.io'
const managedByLabel = 'ipaddress.kubernetes.io/managed-by'

/** A key is an address and the Service that has, had or claims it: `10.96.0.1 default/kubernetes`. */
export function ipAddressController(client: InternalClient): Controller {
  return {
    name: 'ip-addresses',
    sources: [
      {
        resource: services,
        keysOf(item) {
          const service = item.object()
          const { namespace = '', name = '' } = service.metadata ?? {}
          return clusterIpsOf(service).map((address) => `${address} ${namespace}/${name}`)
        },
      },
      {
        resource: addresses,
        keysOf(item) {
          const object = item.object()
          return isOurs(object) ? [`${object.metadata?.name} ${parentOf(object)}`] : []
        },
      },
    ],
    async reconcile(key, signal) {
      const [address = '', owner = ''] = key.split(' ')
      const [namespace = '', name = ''] = owner.split('/')
      const service = client.get({ resource: services, namespace, name })
      const isWanted = service !== undefined && clusterIpsOf(service).includes(address)
      const place = { resource: addresses, namespace: '', name: address }
      const present = client.get(place)
      if (present === undefined && isWanted) await client.create(addresses, ipAddress(address, namespace, name), signal)
      const isStale = present !== undefined && isOurs(present) && parentOf(present) === owner && !isWanted
      if (isStale) await client.delete(place, signal, { preconditions: { uid: present.metadata?.uid ?? '' } })
      return undefined
    },
  }
}

function clusterIpsOf(service: KubeObject): string[] {
  const spec = struct(service, 'spec')
  return text(spec, 'type') === 'ExternalName' ? [] : texts(spec, 'clusterIPs').filter((address) => address !== 'None')
}

function isOurs(address: KubeObject): boolean {
  return address.metadata?.labels?.[managedByLabel] === managedBy
}

function parentOf(address: KubeObject): string {
  const parent = struct(struct(address, 'spec'), 'parentRef')
  return `${text(parent, 'namespace')}/${text(parent, 'name')}`
}

function ipAddress(address: string, namespace: string, name: string): KubeObject {
  const family = address.includes(':') ? 'IPv6' : 'IPv4'
  return {
    apiVersion: addresses.apiVersion,
    kind: addresses.kind,
    metadata: { name: address, labels: { 'ipaddress.kubernetes.io/ip-family': family, [managedByLabel]: managedBy } },
    spec: { parentRef: { resource: 'services', namespace, name } },
  }
}
