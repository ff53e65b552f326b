/**
 * forwardkubesvctraffic: kube-proxy reads from the EndpointSlices of `default/kubernetes` where its ClusterIP leads. Here
 * they name the endpoint, so the ClusterIP and the name `kubernetes.default.svc` lead to it, with the Service unchanged.
 */
import { isIPv6 } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { type FilterEndpoint, type ObjectFilter, type ObjectView, overwrite, READ_VERBS } from './filter.ts'

const serviceLabel = ['metadata', 'labels', 'kubernetes.io/service-name'] as const
const httpsPort = ['ports', { key: 'name', equals: 'https' }, 'port'] as const

export const forwardKubeSvcTraffic: ObjectFilter = {
  name: 'forwardkubesvctraffic',
  resources: [{ apiVersion: 'discovery.k8s.io/v1', resource: 'endpointslices', kind: 'EndpointSlice' }],
  verbs: READ_VERBS,
  components: ['kube-proxy'],
  decide(slice, endpoint) {
    if (endpoint === undefined || !isOfKubernetes(slice)) return 'keep'
    const type = slice.read(['addressType'])
    const family = isIPv6(endpoint.address) ? 'IPv6' : 'IPv4'
    if (type === family) {
      return [
        { path: ['endpoints'], replace: (endpoints: unknown) => leadTo(endpoints, endpoint) },
        overwrite(httpsPort, endpoint.port),
      ]
    }
    // Addresses of one family cannot be DNATed to the other. Left alone, such a slice would lead to the API server's
    // own addresses, which a node need not reach: clients would hang instead of being refused and trying the other family.
    return type === 'IPv4' || type === 'IPv6' ? 'drop' : 'keep'
  },
}

/** kube-proxy goes by the label alone; API servers name their own slice `kubernetes`. */
function isOfKubernetes(slice: ObjectView): boolean {
  return slice.identity.namespace === 'default' && slice.read(serviceLabel) === 'kubernetes'
}

/** Nothing of the endpoints that were there is true of this one: neither node nor zone, nor hints. */
function leadTo(endpoints: unknown, { address }: FilterEndpoint): unknown {
  const wanted = [{ addresses: [address], conditions: { ready: true, serving: true } }]
  return isDeepStrictEqual(endpoints, wanted) ? endpoints : wanted
}
