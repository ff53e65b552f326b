/** A Service of two pods on this node and one elsewhere, as Endpoints and as an EndpointSlice, and a view of the node's pods. */
import type { LocalPodsView } from '../../src/edge/filters/filter.ts'
import type { LocalPod } from '../../src/edge/local-pods/local-pod.ts'
import type { KubeObject } from '../../src/kube/objects.ts'

export const LOCAL_NODE = 'edge-1'
export const UIDS = {
  first: '6ba7b810-9dad-41d1-80b4-00c04fd430c1',
  second: '6ba7b810-9dad-41d1-80b4-00c04fd430c2',
  elsewhere: '6ba7b810-9dad-41d1-80b4-00c04fd430c3',
} as const

export function localPod(uid: string, addresses: readonly string[], more: Partial<LocalPod> = {}): LocalPod {
  const flags = { isReady: true, isTerminating: false, isOver: false }
  return { uid, namespace: 'default', name: `web-${uid.at(-1)}`, addresses, ...flags, ...more }
}

/** What the kubelet has said, to be changed by a test. */
export class FakeLocalPods implements LocalPodsView {
  readonly node = LOCAL_NODE
  readonly pods = new Map<string, LocalPod>()
  /** By `namespace/name`; of others nothing is known. */
  readonly services = new Map<string, boolean>()
  revision = ''

  constructor(...pods: LocalPod[]) {
    for (const pod of pods) this.tell(pod)
  }

  get size(): number {
    return this.pods.size
  }

  tell(pod: LocalPod): void {
    this.pods.set(pod.uid, pod)
    this.revision += '+'
  }

  of(uid: string): LocalPod | undefined {
    return this.pods.get(uid)
  }

  publishesNotReady(namespace: string, service: string): boolean | undefined {
    return this.services.get(`${namespace}/${service}`)
  }
}

export interface Conditions {
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
}

export const READY: Conditions = { ready: true, serving: true, terminating: false }
export const NOT_READY: Conditions = { ready: false, serving: false, terminating: false }

function targetRef(uid: string): object {
  return { kind: 'Pod', namespace: 'default', name: `web-${uid.at(-1)}`, uid }
}

export function sliceEndpoint(address: string, uid: string, conditions = READY, nodeName = LOCAL_NODE): object {
  return { addresses: [address], conditions, targetRef: targetRef(uid), nodeName, zone: 'a' }
}

export const ELSEWHERE = sliceEndpoint('10.2.0.1', UIDS.elsewhere, READY, 'edge-2')

export function webSlice(endpoints: readonly object[], addressType = 'IPv4', name = 'web-x1'): KubeObject {
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: {
      name,
      namespace: 'default',
      uid: 'slice-uid',
      resourceVersion: '7',
      labels: { 'kubernetes.io/service-name': 'web' },
    },
    addressType,
    endpoints,
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  }
}

export function subsetAddress(ip: string, uid: string, nodeName = LOCAL_NODE): object {
  return { ip, nodeName, targetRef: targetRef(uid) }
}

export function webEndpoints(subsets: readonly object[], name = 'web'): KubeObject {
  const metadata = { name, namespace: 'default', uid: 'endpoints-uid', resourceVersion: '8' }
  return { kind: 'Endpoints', apiVersion: 'v1', metadata, ...(subsets.length > 0 && { subsets }) }
}

export const PORTS = [{ port: 8080, protocol: 'TCP' }]
