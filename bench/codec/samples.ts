/** Objects of ordinary size and shape, as a busy cluster has them: a two-container Pod, a Service, an EndpointSlice. */
import type { KubeObject } from '../../src/kube/objects.ts'

const created = '2026-03-01T08:15:30Z'

export function samplePod(index: number): KubeObject {
  const name = `web-7d9c6b5f4-${String(index).padStart(5, '0')}`
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      generateName: 'web-7d9c6b5f4-',
      namespace: 'shop',
      uid: `5f1c2a34-0b1d-4c8e-9f00-${String(index).padStart(12, '0')}`,
      resourceVersion: String(1_000_000 + index),
      generation: 1,
      creationTimestamp: created,
      labels: { app: 'web', 'pod-template-hash': '7d9c6b5f4', tier: 'frontend', version: 'v42' },
      annotations: {
        'prometheus.io/scrape': 'true',
        'prometheus.io/port': '9102',
        'shop.example/owner': 'team-checkout',
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'web-7d9c6b5f4',
          uid: '0c9b7c1e-58a4-4b37-8d0e-0f9c6b5f4a11',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: [managedFields('kube-controller-manager'), managedFields('kubelet', 'status')],
    },
    spec: podSpec(),
    status: podStatus(index),
  }
}

function managedFields(manager: string, subresource?: string): object {
  const container = {
    '.': {},
    'f:image': {},
    'f:imagePullPolicy': {},
    'f:name': {},
    'f:ports': {
      '.': {},
      'k:{"containerPort":8080,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
    },
    'f:resources': {
      '.': {},
      'f:limits': { '.': {}, 'f:memory': {} },
      'f:requests': { '.': {}, 'f:cpu': {}, 'f:memory': {} },
    },
  }
  return {
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    time: created,
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:metadata': { 'f:labels': { '.': {}, 'f:app': {}, 'f:tier': {} }, 'f:ownerReferences': { '.': {} } },
      'f:spec': {
        'f:containers': { 'k:{"name":"sidecar"}': container, 'k:{"name":"web"}': container },
        'f:restartPolicy': {},
      },
    },
    ...(subresource === undefined ? {} : { subresource }),
  }
}

function podSpec(): object {
  return {
    volumes: [
      { name: 'config', configMap: { name: 'web-config', defaultMode: 420 } },
      {
        name: 'kube-api-access-x7k2p',
        projected: {
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          ],
          defaultMode: 420,
        },
      },
    ],
    containers: [container('web', 8080), container('sidecar', 9102)],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    serviceAccountName: 'web',
    serviceAccount: 'web',
    nodeName: 'edge-1',
    securityContext: { runAsNonRoot: true },
    schedulerName: 'default-scheduler',
    tolerations: [
      { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
    ],
    priority: 0,
    enableServiceLinks: true,
    preemptionPolicy: 'PreemptLowerPriority',
  }
}

function container(name: string, port: number): object {
  const probe = {
    httpGet: { path: '/healthz', port, scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  }
  return {
    name,
    image: `registry.example/shop/${name}:1.42.0`,
    args: ['--listen=:8080', '--log-level=info'],
    ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'LOG_FORMAT', value: 'json' },
      { name: 'CACHE_BYTES', value: '134217728' },
    ],
    resources: { limits: { memory: '256Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
    volumeMounts: [
      { name: 'config', readOnly: true, mountPath: '/etc/web' },
      { name: 'kube-api-access-x7k2p', readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
    ],
    livenessProbe: probe,
    readinessProbe: probe,
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
  }
}

function podStatus(index: number): object {
  const condition = (type: string): object => ({
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: created,
  })
  const status = (name: string): object => ({
    name,
    state: { running: { startedAt: created } },
    lastState: {},
    ready: true,
    restartCount: 0,
    image: `registry.example/shop/${name}:1.42.0`,
    imageID: `registry.example/shop/${name}@sha256:3b1f8c5f6f0d7c9a4e2b1d0f3b1f8c5f6f0d7c9a4e2b1d0f3b1f8c5f6f0d7c9a`,
    containerID: `containerd://9f0d7c9a4e2b1d0f3b1f8c5f6f0d7c9a4e2b1d0f3b1f8c5f6f0d7c9a4e2b${String(index).padStart(4, '0')}`,
    started: true,
  })
  const podIP = `10.244.${Math.floor(index / 250) % 250}.${(index % 250) + 1}`
  return {
    phase: 'Running',
    conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(condition),
    hostIP: '10.80.0.2',
    hostIPs: [{ ip: '10.80.0.2' }],
    podIP,
    podIPs: [{ ip: podIP }],
    startTime: created,
    containerStatuses: [status('web'), status('sidecar')],
    qosClass: 'Burstable',
  }
}

export function sampleService(index: number): KubeObject {
  const clusterIP = `10.96.${Math.floor(index / 250)}.${(index % 250) + 1}`
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: {
      name: `service-${index}`,
      namespace: 'shop',
      uid: `7a1c2a34-0b1d-4c8e-9f00-${String(index).padStart(12, '0')}`,
      resourceVersion: String(2_000_000 + index),
      creationTimestamp: created,
      labels: { app: 'web', 'app.kubernetes.io/managed-by': 'Helm' },
      annotations: { 'meta.helm.sh/release-name': 'shop' },
    },
    spec: {
      ports: [
        { name: 'http', protocol: 'TCP', port: 80, targetPort: 'http' },
        { name: 'metrics', protocol: 'TCP', port: 9102, targetPort: 9102 },
      ],
      selector: { app: 'web', tier: 'frontend' },
      clusterIP,
      clusterIPs: [clusterIP],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
    },
    status: { loadBalancer: {} },
  }
}

export function sampleEndpointSlice(index: number): KubeObject {
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: {
      name: `service-${index}-x2k9d`,
      generateName: `service-${index}-`,
      namespace: 'shop',
      uid: `8b1c2a34-0b1d-4c8e-9f00-${String(index).padStart(12, '0')}`,
      resourceVersion: String(3_000_000 + index),
      generation: 7,
      creationTimestamp: created,
      labels: {
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'kubernetes.io/service-name': `service-${index}`,
      },
    },
    addressType: 'IPv4',
    endpoints: Array.from({ length: 20 }, (_, pod) => ({
      addresses: [`10.244.${pod}.${(index % 250) + 1}`],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: {
        kind: 'Pod',
        namespace: 'shop',
        name: `web-7d9c6b5f4-${pod}`,
        uid: `5f1c2a34-0b1d-4c8e-9f00-${String(pod).padStart(12, '0')}`,
      },
      nodeName: `edge-${pod}`,
      zone: 'site-a',
    })),
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  }
}

/** A list object of the given items, whose own type fields are left away as on the wire. */
export function sampleList(items: readonly KubeObject[]): KubeObject {
  const { apiVersion = '', kind = '' } = items[0] ?? {}
  const bare = items.map(({ apiVersion: _version, kind: _kind, ...rest }) => rest)
  return { kind: `${kind}List`, apiVersion, metadata: { resourceVersion: '4000000' }, items: bare }
}
