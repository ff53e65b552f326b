/** What Endpoints and EndpointSlices have in common for `localendpoints`: an address, and the pod behind it. */
import { isIPv6 } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { FieldEdit, FieldPath } from '../../kube/walker/walker.ts'
import type { LocalPod } from '../local-pods/local-pod.ts'
import type { LocalPodsView } from './filter.ts'

/** As both kinds name the pod behind an address. */
export interface PodReference {
  readonly nodeName?: string
  readonly targetRef?: { readonly kind?: string; readonly uid?: string }
}

/** What the kubelet has said of the pod behind an address; undefined for those of other nodes and those it never told of. */
export function localPodBehind({ nodeName, targetRef }: PodReference, localPods: LocalPodsView): LocalPod | undefined {
  if (nodeName !== localPods.node || targetRef?.kind !== 'Pod') return undefined
  return localPods.of(targetRef.uid ?? '')
}

/** The address of a pod in the family that is asked for; one at most, as of every pod. */
export function addressOf({ addresses }: LocalPod, wantsIPv6: boolean): string | undefined {
  return addresses.find((address) => isIPv6(address) === wantsIPv6)
}

/** Writes a value unless it is there already. */
export function put(path: FieldPath, wanted: unknown): FieldEdit {
  return { path, replace: (value) => (isDeepStrictEqual(value, wanted) ? value : wanted) }
}
