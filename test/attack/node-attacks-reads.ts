/** What a node tries to read: the pods, secrets and other objects of other nodes, directly or through another resource. */
import type { Attack } from './node-attack.ts'

const team = '/api/v1/namespaces/team'
const everything =
  'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1'
const kinds = ['secrets', 'configmaps', 'persistentvolumeclaims'] as const

function read(target: string, isAllowed = false, method = 'GET'): Attack {
  return { what: `${method === 'GET' ? 'reads' : method} ${target}`, method, target, isAllowed }
}

export const readAttacks: readonly Attack[] = [
  ...kinds.flatMap((kind) => [
    read(`${team}/${kind}/mine`, true),
    read(`${team}/${kind}/theirs`),
    read(`${team}/${kind}/unused`),
    read(`${team}/${kind}/gone`),
    read(`${team}/${kind}`),
    read(`/api/v1/${kind}`),
    read(`${team}/${kind}?fieldSelector=metadata.name%3Dtheirs`),
    read(`${team}/${kind}?fieldSelector=metadata.name%3Dtheirs&${everything}`),
    read(`${team}/${kind}?${everything}`),
    read(`/api/v1/watch/namespaces/team/${kind}/theirs?timeoutSeconds=1`),
    read(`/api/v1/watch/namespaces/team/${kind}?timeoutSeconds=1`),
    read(`${team}/${kind}/mine/../theirs`),
    read(`${team}/${kind}/mine%2F..%2Ftheirs`),
    read(`/api/v1/namespaces/kube-system/${kind}/mine`),
  ]),
  read(`${team}/pods/mine`, true),
  ...['theirs', 'free', 'gone'].map((name) => read(`${team}/pods/${name}`)),
  read('/api/v1/pods?fieldSelector=spec.nodeName%3Dedge-1', true),
  read('/api/v1/pods'),
  read(`${team}/pods`),
  read('/api/v1/pods?fieldSelector=spec.nodeName%3Dedge-2'),
  read('/api/v1/pods?fieldSelector=spec.nodeName!%3Dedge-1'),
  read(`/api/v1/pods?${everything}`),
  read('/api/v1/watch/pods?fieldSelector=spec.nodeName%3Dedge-1&timeoutSeconds=1'),
  read('/api/v1/nodes/edge-1', true),
  read('/api/v1/nodes/edge-2'),
  read('/api/v1/nodes'),
  read('/api/v1/nodes?fieldSelector=metadata.name%3Dedge-2'),
  read(`/api/v1/nodes?fieldSelector=metadata.name%3Dedge-2&${everything}`),
  read('/api/v1/watch/nodes/edge-2?timeoutSeconds=1'),
  ...[
    'log',
    'exec?command=ls',
    'attach',
    'portforward?ports=80',
    'proxy/',
    'status',
    'ephemeralcontainers',
    'resize',
    'scale',
  ].flatMap((subresource) => [read(`${team}/pods/theirs/${subresource}`), read(`${team}/pods/mine/${subresource}`)]),
  read(`${team}/pods/theirs/exec?command=ls`, false, 'POST'),
  read('/api/v1/nodes/edge-2/proxy/pods'),
  read('/api/v1/nodes/edge-1/proxy/pods'),
  read('/api/v1/nodes/edge-2/status'),
  read('/api/v1/proxy/nodes/edge-2/pods'),
  read(`${team}/services/kubernetes/proxy/`),
  read(`${team}/serviceaccounts/app`, true),
  read(`${team}/serviceaccounts/other`),
  read(`${team}/serviceaccounts`),
  read('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/edge-2'),
  read('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'),
  read('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler'),
  read('/apis/storage.k8s.io/v1/csinodes/edge-2'),
  read('/apis/storage.k8s.io/v1/csinodes'),
  read('/apis/rbac.authorization.k8s.io/v1/clusterroles'),
  read('/apis/apps/v1/deployments'),
  read('/metrics'),
  read('/debug/pprof/'),
  read('/api/v1/namespaces/team'),
  read('/api/v1/namespaces'),
  read('/api/v1/services', true),
  read('/apis/resource.k8s.io/v1/resourceslices'),
  read('/api/v1/persistentvolumes'),
  read('/apis/storage.k8s.io/v1/volumeattachments'),
]
