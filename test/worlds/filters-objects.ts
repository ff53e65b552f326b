/** For each filter: what an API server sends, what the client is to see, and objects that look alike but are no target. */
import type { KubeObject } from '../../src/kube/objects.ts'

export const endpoint = { address: '169.254.30.10', port: 10_550 }

export interface FilterCase {
  readonly filter: string
  readonly collection: string
  /** As who the client comes: `node` with the node's certificate, anybody else with a token. */
  readonly user: string
  readonly target: KubeObject
  readonly expected: KubeObject
  readonly bystanders: readonly KubeObject[]
  /** Field numbers that lead to the deepest message in which an edit writes. */
  readonly route: readonly number[]
}

function service(namespace: string, name: string, clusterIP: string, port: number): KubeObject {
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name, namespace, uid: 'u1', resourceVersion: '200', labels: { component: 'apiserver' } },
    spec: {
      ports: [
        { name: 'https', protocol: 'TCP', port, targetPort: 6443 },
        { name: 'other', protocol: 'TCP', port: 8443, targetPort: 'web' },
      ],
      clusterIP,
      clusterIPs: [clusterIP, 'fd00::1'],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'PreferDualStack',
    },
    status: { loadBalancer: {} },
  }
}

/** The Service of the API server itself. */
export const kubernetes = service('default', 'kubernetes', '10.96.0.1', 443)

function servicesSeen(): KubeObject {
  const seen = service('default', 'kubernetes', endpoint.address, endpoint.port)
  const spec = { ...(seen['spec'] as object), clusterIPs: [endpoint.address], ipFamilies: ['IPv4'] }
  return { ...seen, spec }
}

export function slice(namespace: string, name: string, owner: string, addressType = 'IPv4'): KubeObject {
  const addresses = addressType === 'IPv4' ? ['10.9.8.1', '10.9.8.2'] : ['fd00::1', 'fd00::2']
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: { name, namespace, resourceVersion: '7', labels: { 'kubernetes.io/service-name': owner } },
    addressType,
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: false, terminating: true },
      nodeName: 'master-1',
      zone: 'a',
      hints: { forZones: [{ name: 'a' }] },
    })),
    ports: [
      { name: 'https', protocol: 'TCP', port: 6443 },
      { name: 'other', protocol: 'TCP', port: 9000 },
    ],
  }
}

const sliceSeen: KubeObject = {
  ...slice('default', 'kubernetes', 'kubernetes'),
  endpoints: [{ addresses: [endpoint.address], conditions: { ready: true, serving: true } }],
  ports: [
    { name: 'https', protocol: 'TCP', port: endpoint.port },
    { name: 'other', protocol: 'TCP', port: 9000 },
  ],
}

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
clientConnection:
  acceptContentTypes: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
kind: KubeProxyConfiguration
mode: ""
`

function kubeconfig(server: string): string {
  return `apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: ${server} # the server: of the cluster
  name: default
contexts:
- context: {cluster: default, namespace: default, user: default}
  name: default
`
}

export function configMap(namespace: string, name: string, server: string, config = proxyConfig): KubeObject {
  return {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, namespace, resourceVersion: '9', labels: { app: 'kube-proxy' } },
    data: { 'config.conf': config, 'kubeconfig.conf': kubeconfig(server) },
  }
}

const apiServer = 'https://172.18.0.2:6443'
const proxyInCluster = proxyConfig.replace('/var/lib/kube-proxy/kubeconfig.conf', '""')

function pod(name: string, host: string | undefined, port: string): KubeObject {
  const env = [
    { name: 'HOME', value: '/' },
    ...(host === undefined ? [] : [{ name: 'KUBERNETES_SERVICE_HOST', value: host }]),
    { name: 'KUBERNETES_SERVICE_PORT', value: port },
  ]
  const fromElsewhere = [{ name: 'KUBERNETES_SERVICE_HOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }]
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', resourceVersion: '11' },
    spec: {
      initContainers: [{ name: 'init', image: 'i', env, resources: {} }],
      containers: [
        { name: 'plain', image: 'i', resources: {} },
        { name: 'main', image: 'i', env, resources: {} },
        { name: 'reference', image: 'i', env: fromElsewhere, resources: {} },
      ],
      ephemeralContainers: [{ name: 'debug', image: 'i', env, resources: {} }],
    },
    status: {},
  }
}

const podWithout: KubeObject = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'without', namespace: 'default' },
  spec: { containers: [{ name: 'c', env: [{ name: 'KUBERNETES_SERVICE_HOSTS', value: 'x' }], resources: {} }] },
  status: {},
}

export const filterCases: readonly FilterCase[] = [
  {
    filter: 'masterservice',
    collection: '/api/v1/services',
    user: 'node',
    target: kubernetes,
    expected: servicesSeen(),
    bystanders: [
      service('default', 'kubernetes-2', '10.96.0.2', 443),
      service('other', 'kubernetes', '10.96.0.3', 443),
    ],
    route: [2, 1],
  },
  {
    filter: 'forwardkubesvctraffic',
    collection: '/apis/discovery.k8s.io/v1/endpointslices',
    user: 'system:serviceaccount:causeway-system:kube-proxy',
    target: slice('default', 'kubernetes', 'kubernetes'),
    expected: sliceSeen,
    bystanders: [
      slice('default', 'web-x1', 'web'),
      slice('other', 'kubernetes', 'kubernetes'),
      slice('default', 'kubernetes-fqdn', 'kubernetes', 'FQDN'),
    ],
    route: [3],
  },
  {
    filter: 'inclusterconfig',
    collection: '/api/v1/configmaps',
    user: 'node',
    target: configMap('kube-system', 'kube-proxy', apiServer),
    expected: configMap('kube-system', 'kube-proxy', `https://${endpoint.address}:${endpoint.port}`),
    bystanders: [
      configMap('kube-system', 'kube-proxy-2', apiServer),
      configMap('default', 'kube-proxy', apiServer),
      configMap('kube-system', 'kube-proxy', apiServer, proxyInCluster),
    ],
    route: [],
  },
  {
    filter: 'serviceenv',
    collection: '/api/v1/pods',
    user: 'node',
    target: pod('literal', '10.96.0.1', '443'),
    expected: pod('literal', endpoint.address, String(endpoint.port)),
    bystanders: [podWithout],
    route: [2, 2, 7],
  },
]
