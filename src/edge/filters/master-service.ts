/**
 * masterservice: the kubelet reads KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT of every container it starts from
 * the Service `default/kubernetes`. Here that Service names the endpoint, so programs with InClusterConfig come to it.
 */
import { isIPv6 } from 'node:net'
import { type ObjectFilter, overwrite, READ_VERBS } from './filter.ts'

const httpsPort = ['spec', 'ports', { key: 'name', equals: 'https' }, 'port'] as const

export const masterService: ObjectFilter = {
  name: 'masterservice',
  resources: [{ apiVersion: 'v1', resource: 'services', kind: 'Service' }],
  verbs: READ_VERBS,
  components: ['kubelet'],
  decide({ identity }, endpoint) {
    if (endpoint === undefined || identity.namespace !== 'default' || identity.name !== 'kubernetes') return 'keep'
    const { address, port } = endpoint
    return [
      overwrite(['spec', 'clusterIP'], address),
      // The first of the list is always the single one, and the families go with the list, entry by entry.
      overwrite(['spec', 'clusterIPs'], [address]),
      overwrite(['spec', 'ipFamilies'], [isIPv6(address) ? 'IPv6' : 'IPv4']),
      overwrite(httpsPort, port),
    ]
  },
}
