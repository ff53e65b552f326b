/**
 * localendpoints: while a node is cut off its pods may come back with other addresses, and nobody writes that into the Endpoints
 * and EndpointSlices that kube-proxy and the cluster's DNS go by. Here those of the pods that the kubelet of this node has told
 * of are as it said, by the rules of the controllers that would have written them; everything else is as the API server has it.
 */
import type { FieldEdit, FieldPath } from '../../kube/walker/walker.ts'
import type { LocalPod } from '../local-pods/local-pod.ts'
import { type LocalPodsView, type ObjectFilter, type ObjectView, READ_VERBS } from './filter.ts'
import { addressOf, localPodBehind, type PodReference, put } from './local-pod-reference.ts'
import { decideSubsets } from './local-subsets.ts'

const serviceLabel = ['metadata', 'labels', 'kubernetes.io/service-name'] as const

interface SliceEndpoint extends PodReference {
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
}

export const localEndpoints: ObjectFilter = {
  name: 'localendpoints',
  resources: [
    { apiVersion: 'discovery.k8s.io/v1', resource: 'endpointslices', kind: 'EndpointSlice' },
    { apiVersion: 'v1', resource: 'endpoints', kind: 'Endpoints' },
  ],
  verbs: READ_VERBS,
  components: 'all',
  showsLocalPods: true,
  decide(object, _endpoint, localPods) {
    if (localPods.size === 0) return 'keep'
    const subsets = object.read(['subsets'])
    return Array.isArray(subsets) ? decideSubsets(object, subsets, localPods) : decideSlice(object, localPods)
  },
}

function decideSlice(slice: ObjectView, localPods: LocalPodsView): readonly FieldEdit[] {
  const endpoints = slice.read(['endpoints'])
  const type = slice.read(['addressType'])
  if (!Array.isArray(endpoints) || (type !== 'IPv4' && type !== 'IPv6')) return []
  const edits: FieldEdit[] = []
  const removals: FieldEdit[] = []
  let isPublished: boolean | undefined
  for (const [index, endpoint] of (endpoints as SliceEndpoint[]).entries()) {
    const pod = localPodBehind(endpoint, localPods)
    if (pod === undefined) continue
    const address = pod.isOver ? undefined : addressOf(pod, type === 'IPv6')
    isPublished ??= publishesNotReady(slice, endpoints, localPods)
    // From the last to the first, so that those before keep their places.
    if (address === undefined) removals.unshift({ path: ['endpoints', index], replace: () => undefined })
    else edits.push(...endpointEdits(['endpoints', index], endpoint, pod, address, isPublished))
  }
  return [...edits, ...removals]
}

function endpointEdits(
  path: FieldPath,
  { conditions }: SliceEndpoint,
  { isReady: serving, isTerminating: terminating }: LocalPod,
  address: string,
  isPublished: boolean,
): FieldEdit[] {
  const wanted = { ready: isPublished || (serving && !terminating), serving, terminating }
  const told =
    conditions === undefined
      ? [put([...path, 'conditions'], wanted)]
      : Object.entries(wanted).map(([name, value]) => put([...path, 'conditions', name], value))
  return [put([...path, 'addresses'], [address]), ...told]
}

/** Of a Service that is not known here an endpoint may tell: one that is ready without serving can only be published so. */
function publishesNotReady(slice: ObjectView, endpoints: readonly SliceEndpoint[], localPods: LocalPodsView): boolean {
  const service = slice.read(serviceLabel)
  const known = typeof service === 'string' ? localPods.publishesNotReady(slice.identity.namespace, service) : undefined
  return (
    known ??
    endpoints.some(
      ({ conditions }) =>
        conditions?.ready === true && (conditions.serving === false || conditions.terminating === true),
    )
  )
}
