/** What the strategies of kinds are held against the real API server with: objects to complete, to refuse, to change. */
import type { KubeObject } from '../../src/kube/objects.ts'
import { object } from './codec-fixtures.ts'

export interface UpdateCase {
  readonly what: string
  readonly created: KubeObject
  /** Steps before the update in question, such as a status that a controller would write. */
  readonly status?: Record<string, unknown>
  readonly subresource?: string
  readonly change: (object: KubeObject) => void
}

type Open = Record<string, never>

const container = { name: 'c', image: 'i' }
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } }
const jobTemplate = { spec: { containers: [container], restartPolicy: 'Never' } }
const selector = { matchLabels: { a: 'b' } }

function pod(name: string, spec: object, metadata: object = {}): KubeObject {
  return object('v1', 'Pod', name, { metadata: { name, ...metadata }, spec: { containers: [container], ...spec } })
}

function podWith(name: string, fields: object): KubeObject {
  return pod(name, { containers: [{ ...container, ...fields }] })
}

function service(name: string, spec: object): KubeObject {
  return object('v1', 'Service', name, { spec: { ports: [{ port: 80 }], ...spec } })
}

function deployment(name: string, spec: object): KubeObject {
  return object('apps/v1', 'Deployment', name, { spec: { selector, template, ...spec } })
}

function statefulSet(name: string, spec: object): KubeObject {
  return object('apps/v1', 'StatefulSet', name, { spec: { selector, template, serviceName: 's', ...spec } })
}

function daemonSet(name: string, spec: object): KubeObject {
  return object('apps/v1', 'DaemonSet', name, { spec: { selector, template, ...spec } })
}

function job(name: string, spec: object): KubeObject {
  return object('batch/v1', 'Job', name, { spec: { template: jobTemplate, ...spec } })
}

function cronJob(name: string, spec: object): KubeObject {
  const defaults = { schedule: '* * * * *', jobTemplate: { spec: { template: jobTemplate } } }
  return object('batch/v1', 'CronJob', name, { spec: { ...defaults, ...spec } })
}

function claim(name: string, spec: object): KubeObject {
  const defaults = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  return object('v1', 'PersistentVolumeClaim', name, { spec: { ...defaults, ...spec } })
}

function volume(name: string, spec: object): KubeObject {
  const defaults = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/x' } }
  return object('v1', 'PersistentVolume', name, { spec: { ...defaults, ...spec } })
}

function autoscaler(name: string, spec: object, version = 'v2'): KubeObject {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
  return object(`autoscaling/${version}`, 'HorizontalPodAutoscaler', name, {
    spec: { scaleTargetRef, maxReplicas: 3, ...spec },
  })
}

function ingress(name: string, spec: object): KubeObject {
  return object('networking.k8s.io/v1', 'Ingress', name, { spec })
}

function networkPolicy(name: string, spec: object): KubeObject {
  return object('networking.k8s.io/v1', 'NetworkPolicy', name, { spec: { podSelector: {}, ...spec } })
}

function budget(name: string, spec: object): KubeObject {
  return object('policy/v1', 'PodDisruptionBudget', name, { spec: { selector, ...spec } })
}

function csr(name: string, spec: object): KubeObject {
  const defaults = { request: '__CSR__', signerName: 'example.com/signer', usages: ['client auth'] }
  return object('certificates.k8s.io/v1', 'CertificateSigningRequest', name, { spec: { ...defaults, ...spec } })
}

const backend = { service: { name: 's', port: { number: 80 } } }
const path = { path: '/', pathType: 'Prefix', backend }

/** Created with `dryRun=All`: the answer shows the defaults. */
export const defaultCases: readonly KubeObject[] = [
  pod('plain', {}),
  pod('images', {
    containers: [
      'busybox',
      'busybox:latest',
      'busybox:1',
      'localhost:5000/a/b',
      'localhost:5000/a/b:v1',
      `busybox@sha256:${'0'.repeat(64)}`,
      'Bad Name',
    ].map((image, index) => ({ name: `c${index}`, image })),
  }),
  pod('resources', {
    containers: [
      { ...container, resources: { limits: { cpu: '1.5', memory: '1024Mi' }, requests: { cpu: '100m' } } },
      { name: 'd', image: 'i', resources: { requests: { cpu: '0.0001', memory: '100.5' } } },
    ],
    initContainers: [{ name: 'e', image: 'i', resources: { limits: { cpu: '1' } } }],
  }),
  pod('guaranteed', { containers: [{ ...container, resources: { limits: { cpu: '1', memory: '1Gi' } } }] }),
  pod('burstable', {
    containers: [
      { ...container, resources: { requests: { memory: '1' } } },
      { name: 'd', image: 'i' },
    ],
  }),
  pod('pod-level', { resources: { limits: { cpu: '1', memory: '1Gi' } } }),
  pod('host-network', {
    hostNetwork: true,
    containers: [{ ...container, ports: [{ containerPort: 80 }, { containerPort: 81, protocol: 'UDP' }] }],
  }),
  pod('gated', { schedulingGates: [{ name: 'a' }] }),
  pod('probes', {
    containers: [
      {
        ...container,
        livenessProbe: { httpGet: { port: 80 } },
        readinessProbe: { exec: { command: ['a'] }, periodSeconds: 0 },
        startupProbe: { grpc: { port: 1 } },
        lifecycle: { preStop: { httpGet: { port: 'x' } } },
        env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      },
    ],
  }),
  pod('volumes', {
    serviceAccountName: 'default',
    volumes: [
      { name: 'none' },
      { name: 'secret', secret: { secretName: 's' } },
      { name: 'config', configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } },
      { name: 'host', hostPath: { path: '/' } },
      { name: 'down', downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      { name: 'proj', projected: { sources: [{ serviceAccountToken: { path: 't' } }, { configMap: { name: 'c' } }] } },
      { name: 'image', image: { reference: 'busybox' } },
      {
        name: 'ephemeral',
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1.5Gi' } } },
          },
        },
      },
      { name: 'iscsi', iscsi: { targetPortal: '1.2.3.4:3260', iqn: 'iqn.2001-04.com.example:storage.x', lun: 1 } },
      { name: 'rbd', rbd: { monitors: ['m'], image: 'i' } },
    ],
  }),
  pod('negative-grace', { terminationGracePeriodSeconds: -1 }),
  pod(
    'label-keys',
    {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'z', labelSelector: {}, matchLabelKeys: ['a'], mismatchLabelKeys: ['b', 'none'] },
          ],
        },
      },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'z',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: selector,
          matchLabelKeys: ['b'],
        },
      ],
    },
    { labels: { a: 'x', b: 'y' } },
  ),
  object('resource.k8s.io/v1', 'ResourceClaim', 'devices', {
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } },
  }),
  object('resource.k8s.io/v1', 'DeviceClass', 'class'),
  object('v1', 'Pod', 'status-is-taken-away', { spec: { containers: [container] }, status: { phase: 'Running' } }),
  object('v1', 'PodTemplate', 'template', { template }),
  object('v1', 'ReplicationController', 'rc', { spec: { template } }),
  object('v1', 'ReplicationController', 'rc-own', {
    metadata: { name: 'rc-own', labels: { x: 'y' } },
    spec: { replicas: 0, selector: { a: 'b' }, template },
  }),
  deployment('deployment', {}),
  deployment('recreate', { strategy: { type: 'Recreate' }, replicas: 0, revisionHistoryLimit: 0 }),
  deployment('half', { strategy: { rollingUpdate: { maxSurge: 1 } } }),
  object('apps/v1', 'ReplicaSet', 'rs', { spec: { selector, template }, status: { replicas: 3 } }),
  statefulSet('statefulset', {}),
  statefulSet('with-claims', {
    updateStrategy: { type: 'RollingUpdate' },
    volumeClaimTemplates: [
      {
        metadata: { name: 'v' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  }),
  statefulSet('on-delete', { updateStrategy: { type: 'OnDelete' }, podManagementPolicy: 'Parallel' }),
  statefulSet('rolling', { updateStrategy: { rollingUpdate: {} } }),
  daemonSet('daemonset', {}),
  daemonSet('ds-on-delete', { updateStrategy: { type: 'OnDelete' } }),
  object('apps/v1', 'ControllerRevision', 'revision', { revision: 1, data: { a: 1 } }),
  job('job', {}),
  job('job-labels', { template: { metadata: { labels: { a: 'b' } }, ...jobTemplate } }),
  object('batch/v1', 'Job', 'own-labels', {
    metadata: { name: 'own-labels', labels: { x: 'y' } },
    spec: { template: jobTemplate },
  }),
  job('indexed', { completionMode: 'Indexed', completions: 3, backoffLimitPerIndex: 1 }),
  job('parallel', { parallelism: 2 }),
  job('policy', {
    podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] },
  }),
  cronJob('cronjob', {}),
  service('service', {}),
  service('ports', {
    ports: [
      { name: 'a', port: 1, targetPort: 'x' },
      { name: 'b', port: 2, protocol: 'UDP', targetPort: 0 },
    ],
  }),
  service('headless', { clusterIP: 'None', ports: [] }),
  service('node-port', { type: 'NodePort' }),
  service('balancer', { type: 'LoadBalancer' }),
  service('external-name', { type: 'ExternalName', externalName: 'example.com', ports: [] }),
  service('external-ips', { externalIPs: ['1.2.3.4'] }),
  service('affinity', { sessionAffinity: 'ClientIP' }),
  object('v1', 'Endpoints', 'endpoints', { subsets: [{ addresses: [{ ip: '1.2.3.4' }], ports: [{ port: 80 }] }] }),
  object('discovery.k8s.io/v1', 'EndpointSlice', 'slice', {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['1.2.3.4'] }],
    ports: [{ port: 80 }],
  }),
  object('v1', 'ConfigMap', 'config'),
  object('v1', 'Secret', 'secret'),
  object('v1', 'Secret', 'string-data', { data: { a: 'AA==', b: 'AA==' }, stringData: { b: 'text', c: 'é' } }),
  object('v1', 'ServiceAccount', 'account', { secrets: [{ name: 's', namespace: 'x', uid: 'y' }] }),
  object('v1', 'Namespace', 'namespace'),
  object('v1', 'Namespace', 'namespace-own', {
    spec: { finalizers: ['example.com/x'] },
    status: { phase: 'Terminating' },
  }),
  object('v1', 'Node', 'node', {
    spec: { podCIDR: '10.0.0.0/24' },
    status: { capacity: { cpu: '1.0', memory: '1e3' } },
  }),
  volume('volume', {}),
  claim('claim', {}),
  claim('claim-ignored-source', { dataSource: { kind: 'X', name: 'x' } }),
  claim('claim-source', { dataSource: { kind: 'PersistentVolumeClaim', name: 'x' } }),
  object('storage.k8s.io/v1', 'StorageClass', 'class', { provisioner: 'example.com/p' }),
  object('storage.k8s.io/v1', 'CSIDriver', 'driver.example.com'),
  object('v1', 'LimitRange', 'limits', {
    spec: {
      limits: [
        { type: 'Container', max: { cpu: '2' }, min: { cpu: '1', memory: '1' }, default: { memory: '2' } },
        { type: 'Pod', max: { cpu: '2' } },
      ],
    },
  }),
  object('v1', 'ResourceQuota', 'quota', { spec: { hard: { pods: '1', cpu: '1.5' } } }),
  object('rbac.authorization.k8s.io/v1', 'Role', 'role', {
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
  }),
  object('rbac.authorization.k8s.io/v1', 'ClusterRole', 'system:x', {
    rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
  }),
  object('rbac.authorization.k8s.io/v1', 'RoleBinding', 'binding', {
    roleRef: { kind: 'Role', name: 'r' },
    subjects: [
      { kind: 'User', name: 'u' },
      { kind: 'Group', name: 'g' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
    ],
  }),
  object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'binding', {
    roleRef: { kind: 'ClusterRole', name: 'r' },
  }),
  object('coordination.k8s.io/v1', 'Lease', 'lease', { spec: { holderIdentity: 'x' } }),
  csr('csr', { username: 'other', groups: ['g'] }),
  autoscaler('v1', { targetCPUUtilizationPercentage: 50 }, 'v1'),
  autoscaler('v1-plain', {}, 'v1'),
  autoscaler('v2', {}),
  autoscaler('behavior', { behavior: { scaleDown: { stabilizationWindowSeconds: 5 } } }),
  ingress('ingress', { rules: [{ host: 'example.com', http: { paths: [path] } }] }),
  object('networking.k8s.io/v1', 'IngressClass', 'class', {
    spec: { controller: 'example.com/x', parameters: { kind: 'K', name: 'n' } },
  }),
  networkPolicy('policy', { egress: [{ ports: [{ port: 80 }] }] }),
  networkPolicy('policy-none', {}),
  budget('budget', { minAvailable: 1 }),
  object('scheduling.k8s.io/v1', 'PriorityClass', 'priority', { value: 1 }),
  object('node.k8s.io/v1', 'RuntimeClass', 'runtime', { handler: 'h' }),
  object('apiregistration.k8s.io/v1', 'APIService', 'v1.example.com', {
    spec: {
      group: 'example.com',
      version: 'v1',
      groupPriorityMinimum: 1,
      versionPriority: 1,
      service: { name: 's', namespace: 'n' },
      insecureSkipTLSVerify: true,
    },
  }),
  object('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'schema', {
    spec: { priorityLevelConfiguration: { name: 'global-default' } },
  }),
  object('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', 'level', {
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
  }),
  object('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'validating', {
    webhooks: [
      {
        name: 'a.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { service: { name: 's', namespace: 'n' } },
        rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
      },
    ],
  }),
  object('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'mutating', {
    webhooks: [
      {
        name: 'a.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url: 'https://example.com' },
      },
    ],
  }),
  object('v1', 'Event', 'event', { involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' }, type: 'Normal' }),
  object('events.k8s.io/v1', 'Event', 'event', {
    eventTime: '2026-01-02T03:04:05.000006Z',
    reportingController: 'example.com/c',
    reportingInstance: 'i',
    action: 'a',
    reason: 'r',
    type: 'Normal',
    regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
  }),
]

const invalidMetadata: readonly KubeObject[] = [
  object('v1', 'ConfigMap', ''),
  object('v1', 'ConfigMap', 'Upper_Case'),
  object('v1', 'ConfigMap', 'a'.repeat(254)),
  object('v1', 'ConfigMap', 'x', {
    metadata: {
      name: 'x',
      labels: { 'a b': 'c d' },
      annotations: { 'a/b/c': '' },
      finalizers: ['plain', 'orphan', 'foregroundDeletion'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: '', uid: '' }],
    },
  }),
  object('v1', 'ConfigMap', 'x', { metadata: { name: 'x', labels: { '/x': 'a'.repeat(64) } } }),
  object('v1', 'ConfigMap', 'x', { metadata: { name: 'x', annotations: { a: 'x'.repeat(256 * 1024) } } }),
  object('v1', 'ConfigMap', 'x', {
    metadata: {
      name: 'x',
      ownerReferences: ['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: 'u', controller: true })),
    },
  }),
  object('v1', 'Service', '9.dots', { spec: { ports: [{ port: 80 }] } }),
  object('v1', 'Namespace', 'with.dots'),
  object('apps/v1', 'StatefulSet', 'with.dots', { spec: { selector, template } }),
  object('rbac.authorization.k8s.io/v1', 'Role', 'a/b%'),
  object('rbac.authorization.k8s.io/v1', 'Role', '..'),
  object('v1', 'Event', 'a/b', { involvedObject: { namespace: 'default' } }),
  object('policy/v1', 'PodDisruptionBudget', 'a%b'),
]

const invalidPods: readonly KubeObject[] = [
  object('v1', 'Pod', 'nothing'),
  pod('POD-B', { containers: [] }),
  podWith('names', { name: 'A_', image: '' }),
  podWith('spaces', { image: ' i ' }),
  pod('twice', { containers: [container, container] }),
  pod('twice-init', { initContainers: [container] }),
  podWith('ports', {
    ports: [
      { containerPort: 0 },
      { containerPort: 80_000, protocol: 'X', name: 'ABC' },
      { containerPort: 1, name: 'a--b', hostPort: -1 },
      { containerPort: 1, name: 'long-long-long-long' },
      { containerPort: 2, hostPort: 5 },
      { containerPort: 3, hostPort: 5 },
      { containerPort: 3, name: 'same' },
      { containerPort: 3, name: 'same' },
    ],
  }),
  podWith('env', {
    env: [
      { name: '' },
      { name: 'a=b' },
      { name: 'x', value: 'y', valueFrom: { fieldRef: { fieldPath: 'foo.bar' } } },
      { name: 'x', valueFrom: {} },
      { name: 'x', valueFrom: { fieldRef: { fieldPath: 'status.phase' } } },
      { name: 'x', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a b']" } } },
      { name: 'x', valueFrom: { configMapKeyRef: { name: 'A', key: '..x' } } },
      { name: 'x', valueFrom: { secretKeyRef: { name: 'a', key: '' }, configMapKeyRef: { name: 'a', key: 'k' } } },
      { name: 'x', valueFrom: { resourceFieldRef: { resource: 'limits.foo' } } },
      { name: 'x', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } },
    ],
    envFrom: [{}, { configMapRef: { name: '' } }, { prefix: 'a=', secretRef: { name: 'A_' } }],
  }),
  podWith('mounts', {
    volumeMounts: [
      { name: 'none', mountPath: '/a' },
      { name: '', mountPath: '' },
      { name: 'none', mountPath: '/a', subPath: '../x', mountPropagation: 'Bidirectional' },
      {
        name: 'none',
        mountPath: '/b',
        subPath: '/x',
        subPathExpr: 'y',
        mountPropagation: 'X',
        recursiveReadOnly: 'Enabled',
      },
    ],
    volumeDevices: [{ name: 'd', devicePath: '' }],
  }),
  pod('volumes', {
    volumes: [
      { name: 'A_', emptyDir: { sizeLimit: '-1' } },
      { name: 'two', emptyDir: {}, hostPath: { path: '/x/../y', type: 'X' } },
      { name: 'secret', secret: { defaultMode: 512, items: [{ key: '', path: '../x' }] } },
      { name: 'config', configMap: { items: [{ key: 'k', path: '/x', mode: -1 }] } },
      { name: 'claim', persistentVolumeClaim: { claimName: '' } },
      { name: 'nfs', nfs: { path: 'x', server: '' } },
      {
        name: 'down',
        downwardAPI: { items: [{ path: '..x' }, { path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } }] },
      },
      { name: 'same', emptyDir: {} },
      { name: 'same', emptyDir: {} },
      { name: 'proj', projected: { sources: [{ serviceAccountToken: { path: '', expirationSeconds: 1 } }] } },
    ],
  }),
  podWith('too-much-cpu', { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
  podWith('negative', { resources: { limits: { memory: '-1' } } }),
  podWith('unknown', { resources: { requests: { foo: '1' } } }),
  podWith('extended', { resources: { requests: { 'example.com/gpu': '1' } } }),
  podWith('fraction', { resources: { limits: { 'example.com/gpu': '1.5' } } }),
  podWith('huge', { resources: { limits: { 'hugepages-2Mi': '1Mi' } } }),
  podWith('claims', { resources: { claims: [{ name: 'x' }] } }),
  podWith('probes', {
    livenessProbe: { successThreshold: 2 },
    readinessProbe: {
      httpGet: { port: 0, scheme: 'X', httpHeaders: [{ name: 'a b' }] },
      terminationGracePeriodSeconds: 1,
    },
    startupProbe: { exec: {}, tcpSocket: { port: 'Bad!' }, periodSeconds: -1 },
    lifecycle: { preStop: { sleep: { seconds: 31 } }, postStart: {} },
  }),
  podWith('security', {
    securityContext: { privileged: true, allowPrivilegeEscalation: false, runAsUser: -1, procMount: 'X' },
  }),
  podWith('seccomp', { securityContext: { seccompProfile: { type: 'Localhost' }, appArmorProfile: { type: 'X' } } }),
  pod('pod-security', {
    securityContext: {
      runAsUser: -1,
      fsGroup: -1,
      supplementalGroups: [-1],
      fsGroupChangePolicy: 'X',
      sysctls: [{ name: 'A' }, { name: '' }],
    },
    shareProcessNamespace: true,
    hostPID: true,
  }),
  podWith('policies', {
    imagePullPolicy: 'X',
    terminationMessagePolicy: 'Y',
    resizePolicy: [{ resourceName: 'x', restartPolicy: 'y' }],
  }),
  pod('spec', {
    restartPolicy: 'X',
    dnsPolicy: 'Y',
    nodeSelector: { 'a b': 'c' },
    serviceAccountName: 'A',
    nodeName: 'B',
    activeDeadlineSeconds: 0,
    hostname: 'a.b',
    subdomain: 'C',
    priorityClassName: 'D',
    runtimeClassName: 'E',
    preemptionPolicy: 'F',
    os: { name: 'mac' },
    hostAliases: [{ ip: 'x', hostnames: ['A'] }],
    readinessGates: [{ conditionType: 'a b' }],
    imagePullSecrets: [{}],
  }),
  pod('dns', { dnsPolicy: 'None' }),
  pod('dns-config', {
    dnsConfig: { nameservers: ['x', '1.1.1.1', '1.1.1.2', '1.1.1.3'], searches: ['A'], options: [{}] },
  }),
  pod('tolerations', {
    tolerations: [
      { key: '', operator: 'Equal' },
      { key: 'a', operator: 'Foo' },
      { key: 'a b', operator: 'Exists', value: 'x' },
      { key: 'a', value: 'x y', effect: 'X' },
      { key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 1 },
    ],
  }),
  pod('affinity', {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                { key: 'a', operator: 'In' },
                { key: 'a b', operator: 'X' },
                { key: 'a', operator: 'Exists', values: ['x'] },
              ],
            },
            { matchFields: [{ key: 'x', operator: 'Gt' }] },
          ],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0, preference: {} }],
      },
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: '' }] },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 101,
            podAffinityTerm: { topologyKey: 'a', labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
          },
        ],
      },
    },
    topologySpreadConstraints: [
      { maxSkew: 0, topologyKey: '', whenUnsatisfiable: 'X' },
      { maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 1, labelSelector: selector },
      { maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: selector },
    ],
  }),
  pod('init', {
    initContainers: [
      { name: 'i', image: 'i', livenessProbe: { exec: { command: ['a'] } }, lifecycle: {} },
      { name: 'j', image: 'i', restartPolicy: 'X' },
    ],
  }),
  pod('ephemeral', { ephemeralContainers: [{ name: 'e', image: 'i', targetContainerName: 'x' }] }),
  pod(
    'label-keys',
    {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'z', matchLabelKeys: ['a'] },
            { topologyKey: 'z', labelSelector: selector, matchLabelKeys: ['a', 'x y'], mismatchLabelKeys: ['a'] },
          ],
        },
      },
    },
    { labels: { a: 'x' } },
  ),
  pod('device-claims', {
    resourceClaims: [
      { name: 'A' },
      { name: '', resourceClaimName: 'B' },
      { name: 'b', resourceClaimName: 'x', resourceClaimTemplateName: 'y' },
    ],
  }),
  pod('more-volumes', {
    volumes: [
      { name: 'e', ephemeral: { volumeClaimTemplate: { spec: {} } } },
      { name: 'i', image: { reference: '' } },
      { name: 's', iscsi: { targetPortal: '', iqn: 'x', lun: 256 } },
      { name: 'r', rbd: { monitors: [], image: '' } },
    ],
  }),
  pod('gates', { schedulingGates: [{ name: 'a' }, { name: 'a' }], nodeName: 'n' }),
  pod('host-ports', { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 1, hostPort: 2 }] }] }),
  pod('mirror', {}, { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
]

const invalidWorkloads: readonly KubeObject[] = [
  object('apps/v1', 'Deployment', 'empty'),
  deployment('mismatch', {
    replicas: -1,
    template: { metadata: { labels: { a: 'c' } }, spec: { containers: [container] } },
  }),
  deployment('no-labels', { template: { spec: { containers: [container] } } }),
  deployment('empty-selector', { selector: {} }),
  deployment('bad-selector', {
    selector: { matchLabels: { 'a b': 'c' }, matchExpressions: [{ key: 'a', operator: 'X' }] },
  }),
  deployment('strategy', { strategy: { type: 'X' } }),
  deployment('recreate', { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } }),
  deployment('percent', { strategy: { rollingUpdate: { maxSurge: 'x', maxUnavailable: '101%' } } }),
  deployment('zero', { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } }),
  deployment('progress', { minReadySeconds: 10, progressDeadlineSeconds: 10, revisionHistoryLimit: -1 }),
  deployment('template', {
    template: {
      metadata: { labels: { a: 'b', 'x y': 'z' } },
      spec: { containers: [{ name: 'c' }], restartPolicy: 'Never', activeDeadlineSeconds: 1 },
    },
  }),
  object('apps/v1', 'ReplicaSet', 'rs', { spec: { replicas: -1, minReadySeconds: -1, selector: {}, template } }),
  object('v1', 'ReplicationController', 'rc', {
    spec: { replicas: -1, minReadySeconds: -1, selector: { a: 'c' }, template },
  }),
  object('v1', 'ReplicationController', 'rc-empty'),
  statefulSet('sts', {
    replicas: -1,
    podManagementPolicy: 'X',
    updateStrategy: { type: 'Y' },
    serviceName: 'A.b',
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Z' },
    volumeClaimTemplates: [{ metadata: { name: 'v' }, spec: {} }],
  }),
  statefulSet('sts-on-delete', { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } }),
  statefulSet('sts-partition', { updateStrategy: { rollingUpdate: { partition: -1, maxUnavailable: 0 } } }),
  object('apps/v1', 'StatefulSet', 'sts-empty', { spec: { template } }),
  daemonSet('ds', { updateStrategy: { type: 'X' }, minReadySeconds: -1 }),
  daemonSet('ds-both', { updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } }),
  daemonSet('ds-none', {
    updateStrategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
    selector: { matchLabels: { x: 'y' } },
  }),
  object('apps/v1', 'DaemonSet', 'ds-empty', { spec: { template } }),
  object('apps/v1', 'ControllerRevision', 'revision', { revision: -1 }),
  job('job', { template, parallelism: -1, completions: -1, backoffLimit: -1 }),
  job('indexed', { completionMode: 'Indexed', parallelism: 1 }),
  job('mode', { completionMode: 'X', podReplacementPolicy: 'Y' }),
  job('not-indexed', { backoffLimitPerIndex: 1, maxFailedIndexes: 1 }),
  job('own-selector', { selector }),
  job('failure', {
    podFailurePolicy: {
      rules: [
        { action: 'X' },
        { action: 'FailJob', onExitCodes: { operator: 'In', values: [2, 1, 0, 1], containerName: 'x' } },
        {
          action: 'Ignore',
          onExitCodes: { operator: 'X' },
          onPodConditions: [{ type: 'a b', status: 'X' }],
        },
      ],
    },
  }),
  cronJob('cron', { schedule: 'bad', concurrencyPolicy: 'X', startingDeadlineSeconds: -1 }),
  cronJob('a'.repeat(53), { schedule: '' }),
  ...[
    '61 * * * *',
    '* * * * 8',
    '*/0 a * * *',
    '5-1 * * * *',
    '@foo',
    '@every 5x',
    '@every 5',
    'TZ=UTC * * * * *',
    '1-2-3 * * * *',
    '1/2/3 * * * *',
    '* * 0 * *',
    'x * * * *',
    '* * * FOO *',
    '-1 * * * *',
  ].map((schedule) => cronJob('cron', { schedule })),
  ...['Nowhere/City', 'local', '', '../x'].map((timeZone) => cronJob('cron', { timeZone })),
  cronJob('selector', { jobTemplate: { spec: { selector, manualSelector: true, template } } }),
  autoscaler('hpa', { minReplicas: 0, maxReplicas: 0, scaleTargetRef: {} }),
  autoscaler('hpa', { minReplicas: 5, scaleTargetRef: { kind: 'a/b', name: 'x', apiVersion: 'a/b/c' } }),
  autoscaler('hpa-metrics', {
    metrics: [
      { type: '' },
      { type: 'X', resource: { name: '', target: { type: '' } } },
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 0, averageValue: '0' } },
      },
      { type: 'Pods', pods: { metric: { name: '' }, target: { type: 'Value', value: '1' } } },
      { type: 'Pods', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 1 } } },
    ],
    behavior: {
      scaleUp: {
        stabilizationWindowSeconds: 3601,
        selectPolicy: 'X',
        policies: [{ type: 'Y', value: 0, periodSeconds: 1801 }],
      },
    },
  }),
]

const invalidCore: readonly KubeObject[] = [
  object('v1', 'ConfigMap', 'keys', { data: { 'a b': 'x' }, binaryData: { '..': 'AA==' } }),
  object('v1', 'ConfigMap', 'both', { data: { a: 'x' }, binaryData: { a: 'AA==' } }),
  object('v1', 'ConfigMap', 'large', { data: { a: 'x'.repeat(1024 * 1024 + 1) } }),
  object('v1', 'Secret', 'keys', { data: { 'a b': 'AA==' } }),
  object('v1', 'Secret', 'tls', { type: 'kubernetes.io/tls' }),
  object('v1', 'Secret', 'ssh', { type: 'kubernetes.io/ssh-auth' }),
  object('v1', 'Secret', 'basic', { type: 'kubernetes.io/basic-auth' }),
  object('v1', 'Secret', 'docker', { type: 'kubernetes.io/dockerconfigjson' }),
  object('v1', 'Secret', 'docker-empty', { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': '' } }),
  object('v1', 'Secret', 'token', { type: 'kubernetes.io/service-account-token' }),
  object('v1', 'Namespace', 'finalizers', { spec: { finalizers: ['plain', 'a b/c'] } }),
  object('v1', 'ServiceAccount', 'A'),
  object('v1', 'Node', 'node', {
    spec: {
      podCIDRs: ['10.0.0.0/24', '10.0.1.0/24'],
      taints: [
        { key: 'a b', value: 'c d', effect: 'X' },
        { key: 'a', effect: '' },
        { key: 'a', effect: 'NoSchedule' },
        { key: 'a', effect: 'NoSchedule', value: 'x' },
      ],
    },
    status: { capacity: { cpu: '-1' } },
  }),
  object('v1', 'Service', 'none'),
  service('unnamed', { ports: [{ port: 80 }, { port: 81 }] }),
  service('ports', {
    ports: [
      { name: 'A_', port: 0, protocol: 'X', targetPort: 'Bad!' },
      { name: 'b', port: 1, targetPort: 70_000, appProtocol: 'a b' },
      { name: 'b', port: 1 },
    ],
  }),
  service('type', { type: 'X', sessionAffinity: 'Y', selector: { 'a b': 'c' } }),
  service('external-name', { type: 'ExternalName', externalName: 'A_' }),
  service('external-name-ip', { type: 'ExternalName', clusterIP: '1.2.3.4' }),
  service('node-port', { ports: [{ port: 80, nodePort: 30_000 }] }),
  service('headless-node', { type: 'NodePort', clusterIP: 'None' }),
  service('external-ips', { externalIPs: ['x', '127.0.0.1', '169.254.1.1', '0.0.0.0'] }),
  service('ranges', { loadBalancerSourceRanges: ['x'], allocateLoadBalancerNodePorts: true, loadBalancerClass: 'x' }),
  service('traffic', {
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'X',
    healthCheckNodePort: 1,
    trafficDistribution: 'Y',
  }),
  service('affinity', { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } }),
  service('cluster-ip', { clusterIP: 'x' }),
  object('v1', 'Endpoints', 'endpoints', {
    subsets: [
      { ports: [{ port: 0 }, { port: 1, protocol: 'X' }] },
      { addresses: [{ ip: 'x' }, { ip: '127.0.0.1' }, { ip: 'fe80::1', hostname: 'A', nodeName: 'B' }] },
    ],
  }),
  object('discovery.k8s.io/v1', 'EndpointSlice', 'slice', {
    addressType: 'IPv4',
    endpoints: [{ addresses: [] }, { addresses: ['x', '::1', '127.0.0.1'], hostname: 'A', nodeName: 'B' }],
    ports: [{ name: 'A', protocol: 'X' }, { name: 'b' }, { name: 'b' }],
  }),
  object('discovery.k8s.io/v1', 'EndpointSlice', 'type', { addressType: 'X', endpoints: [] }),
  object('discovery.k8s.io/v1', 'EndpointSlice', 'no-type', { addressType: '', endpoints: [] }),
  object('v1', 'LimitRange', 'limits', {
    spec: {
      limits: [
        { type: 'X' },
        { type: 'Pod', default: { cpu: '1' }, max: { foo: '1' } },
        { type: 'Container', max: { cpu: '1' }, min: { cpu: '2' } },
        { type: 'PersistentVolumeClaim' },
        { type: 'Container', maxLimitRequestRatio: { cpu: '0.5' } },
      ],
    },
  }),
  object('v1', 'ResourceQuota', 'hard', { spec: { hard: { foo: '1' } } }),
  object('v1', 'ResourceQuota', 'fraction', { spec: { hard: { pods: '1.5' } } }),
  object('v1', 'ResourceQuota', 'scopes', {
    spec: { hard: { cpu: '1' }, scopes: ['BestEffort', 'NotBestEffort', 'X'] },
  }),
  object('v1', 'ResourceQuota', 'selector', {
    spec: {
      scopeSelector: {
        matchExpressions: [
          { scopeName: 'X', operator: 'Y' },
          { scopeName: 'BestEffort', operator: 'In' },
        ],
      },
    },
  }),
  object('v1', 'Event', 'event', { involvedObject: { namespace: 'other' } }),
  object('v1', 'Event', 'event', { involvedObject: {}, eventTime: '2026-01-02T03:04:05.000000Z' }),
  object('events.k8s.io/v1', 'Event', 'event', { type: 'X', series: { count: 1 }, deprecatedCount: 1 }),
  volume('pv', {
    accessModes: [],
    capacity: undefined,
    hostPath: undefined,
    persistentVolumeReclaimPolicy: 'X',
    volumeMode: 'Y',
    storageClassName: 'A',
  }),
  volume('pv-two', {
    accessModes: ['X', 'ReadWriteOncePod', 'ReadWriteOnce'],
    capacity: { storage: '0' },
    nfs: { server: 's', path: '/x' },
  }),
  volume('pv-local', { hostPath: undefined, local: { path: '/x' } }),
  claim('pvc', { accessModes: [], resources: {}, volumeMode: 'X', storageClassName: 'A' }),
  claim('pvc-modes', {
    accessModes: ['X', 'ReadWriteOncePod', 'ReadWriteOnce'],
    resources: { requests: { storage: '0' } },
    dataSourceRef: { kind: 'X', name: '' },
  }),
  object('storage.k8s.io/v1', 'StorageClass', 'class', { provisioner: '', reclaimPolicy: 'X', volumeBindingMode: 'Y' }),
  object('storage.k8s.io/v1', 'StorageClass', 'class', { provisioner: 'a b' }),
]

const invalidOthers: readonly KubeObject[] = [
  object('rbac.authorization.k8s.io/v1', 'Role', 'role', {
    rules: [{ verbs: [] }, { verbs: ['get'], nonResourceURLs: ['/x'], resources: ['x'] }],
  }),
  object('rbac.authorization.k8s.io/v1', 'ClusterRole', 'role', {
    aggregationRule: {},
    rules: [{ verbs: ['get'], apiGroups: [''] }],
  }),
  object('rbac.authorization.k8s.io/v1', 'RoleBinding', 'binding', {
    roleRef: { kind: 'X', name: '', apiGroup: 'y' },
    subjects: [
      { kind: 'X', name: '' },
      { kind: 'ServiceAccount', name: 'A', apiGroup: 'x' },
      { kind: 'User', name: 'u', apiGroup: 'x' },
    ],
  }),
  object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'binding', {
    roleRef: { kind: 'Role', name: 'a/b' },
    subjects: [{ kind: 'ServiceAccount', name: 'a' }],
  }),
  object('coordination.k8s.io/v1', 'Lease', 'lease', { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }),
  object('coordination.k8s.io/v1', 'Lease', 'lease', { spec: { leaseDurationSeconds: -1 } }),
  object('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'schema', {
    spec: {
      matchingPrecedence: 1,
      priorityLevelConfiguration: { name: '' },
      distinguisherMethod: { type: 'X' },
      rules: [
        {},
        {
          subjects: [
            { kind: 'X' },
            { kind: 'User', group: { name: 'g' } },
            { kind: 'ServiceAccount', serviceAccount: { name: 'A', namespace: '' } },
          ],
          resourceRules: [
            { verbs: ['*', 'get'], apiGroups: ['*', 'a'], resources: [], namespaces: ['A'] },
            { verbs: ['x'], apiGroups: [''], resources: ['*'] },
          ],
          nonResourceRules: [{ verbs: [], nonResourceURLs: ['', 'a', '/a b', '/a//b', '/*a'] }],
        },
      ],
    },
  }),
  object('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', 'level', { spec: { type: 'X' } }),
  object('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', 'level', { spec: { type: 'Limited' } }),
  object('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', 'level', {
    spec: {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares: -1,
        lendablePercent: 101,
        borrowingLimitPercent: -1,
        limitResponse: { type: 'Queue', queuing: { queues: 1, handSize: 2, queueLengthLimit: -1 } },
      },
    },
  }),
  object('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'hooks', {
    webhooks: [
      {
        name: 'a.b',
        clientConfig: {},
        admissionReviewVersions: ['v3', 'v3'],
        sideEffects: 'Some',
        failurePolicy: 'X',
        matchPolicy: 'Y',
        timeoutSeconds: 31,
        reinvocationPolicy: 'Z',
      },
      {
        name: 'a.b.c',
        clientConfig: { url: 'http://u:p@h/?q#f' },
        admissionReviewVersions: [],
        rules: [
          { operations: ['*', 'X'], apiGroups: ['*', 'a'], apiVersions: [''], resources: ['*', 'a', ''], scope: 'X' },
        ],
      },
      {
        name: 'a.b.c',
        clientConfig: { service: { name: 's', namespace: 'n', port: 0, path: 'a//B' } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
      },
    ],
  }),
  object('storage.k8s.io/v1', 'CSIDriver', 'driver', { spec: { fsGroupPolicy: 'X', volumeLifecycleModes: ['Y'] } }),
  csr('csr-usages', { usages: [] }),
  csr('csr-more-usages', { usages: ['x', 'client auth', 'client auth'], expirationSeconds: 599 }),
  ...['', 'x', 'x/y', 'A.b/c', 'example.com/_', 'kubernetes.io/legacy-unknown'].map((signerName) =>
    csr('csr-signer', { signerName }),
  ),
  ingress('ingress', {}),
  ingress('ingress', {
    defaultBackend: {},
    ingressClassName: 'A',
    tls: [{ hosts: ['A', '*.x', 'a.*'], secretName: 'B' }],
  }),
  ingress('ingress', {
    rules: [
      { host: '1.2.3.4' },
      { host: '*a', http: { paths: [] } },
      {
        http: {
          paths: [
            { path: 'x', pathType: 'Prefix', backend: { service: { name: 'A_', port: { number: 80, name: 'x' } } } },
            { path: '/a//b/..', pathType: 'Exact', backend: { service: { name: '', port: {} } } },
            {
              path: 'x',
              pathType: 'ImplementationSpecific',
              backend: { service: { name: 's', port: { number: 70_000 } } },
            },
            { path: '/', pathType: 'X', backend: { resource: { kind: '', name: 'a/b' } } },
            { path: '/', backend },
          ],
        },
      },
    ],
  }),
  object('networking.k8s.io/v1', 'IngressClass', 'class', {
    spec: { controller: 'x', parameters: { kind: '', name: '', scope: 'X' } },
  }),
  object('networking.k8s.io/v1', 'IngressClass', 'class', {
    spec: { controller: 'A/b c', parameters: { kind: 'k', name: 'n', scope: 'Namespace' } },
  }),
  networkPolicy('policy', {
    policyTypes: ['X'],
    ingress: [
      {
        ports: [
          { port: 0, endPort: -1 },
          { port: 'Bad!', endPort: 1 },
          { protocol: 'X', endPort: 1 },
        ],
        from: [
          {},
          { ipBlock: { cidr: '' } },
          { ipBlock: { cidr: 'x' }, podSelector: {} },
          { ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/9', 'x', '10.0.0.0/8'] } },
        ],
      },
    ],
  }),
  networkPolicy('policy', { policyTypes: ['Ingress', 'Egress', 'Ingress'] }),
  budget('budget', { minAvailable: -1, maxUnavailable: '101%', unhealthyPodEvictionPolicy: 'X' }),
  budget('budget', { minAvailable: 'x', selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }),
  object('scheduling.k8s.io/v1', 'PriorityClass', 'class', { value: 1_000_000_001, preemptionPolicy: 'X' }),
  object('scheduling.k8s.io/v1', 'PriorityClass', 'system-x', { value: 1 }),
  object('node.k8s.io/v1', 'RuntimeClass', 'runtime', { handler: 'A' }),
  object('node.k8s.io/v1', 'RuntimeClass', 'runtime', { handler: '' }),
  object('apiregistration.k8s.io/v1', 'APIService', 'x', {
    spec: { group: 'A', version: '1', groupPriorityMinimum: 0, versionPriority: 1001, insecureSkipTLSVerify: true },
  }),
]

/** Created with `dryRun=All`: the answer is a refusal. */
export const invalidCases: readonly KubeObject[] = [
  ...invalidMetadata,
  ...invalidPods,
  ...invalidWorkloads,
  ...invalidCore,
  ...invalidOthers,
]

function spec(object: KubeObject): Open {
  return object['spec'] as Open
}

function set(path: string, value: unknown): (object: KubeObject) => void {
  return (object) => {
    const names = path.split('.')
    const last = names.pop() ?? ''
    let parent = object as Record<string, unknown>
    for (const name of names) {
      parent[name] ??= {}
      parent = parent[name] as Record<string, unknown>
    }
    if (value === undefined) delete parent[last]
    else parent[last] = value
  }
}

function all(...changes: readonly ((object: KubeObject) => void)[]): (object: KubeObject) => void {
  return (object) => {
    for (const change of changes) change(object)
  }
}

/** Created for good, then changed with `dryRun=All`: the answer is a refusal, or the object as it would be stored. */
export const updateCases: readonly UpdateCase[] = [
  { what: 'bad labels', created: pod('u-labels', {}), change: set('metadata.labels', { 'a b': 'c' }) },
  {
    what: 'bad labels',
    created: object('v1', 'ConfigMap', 'u-labels'),
    change: set('metadata.labels', { 'a b': 'c' }),
  },
  { what: 'bad labels', created: deployment('u-labels', {}), change: set('metadata.labels', { 'a b': 'c' }) },
  { what: 'bad finalizer', created: service('u-finalizer', {}), change: set('metadata.finalizers', ['plain']) },
  { what: 'image', created: pod('u-image', {}), change: (object) => set('containers.0.image', 'other')(spec(object)) },
  {
    what: 'empty image',
    created: pod('u-no-image', {}),
    change: (object) => set('containers.0.image', '')(spec(object)),
  },
  {
    what: 'one more container',
    created: pod('u-containers', {}),
    change: set('spec.containers', [container, { name: 'd', image: 'i' }]),
  },
  {
    what: 'more tolerations',
    created: pod('u-tolerations', {}),
    change: set('spec.tolerations', [{ key: 'a', operator: 'Exists' }]),
  },
  {
    what: 'fewer tolerations',
    created: pod('u-fewer-tolerations', { tolerations: [{ key: 'a', operator: 'Exists' }] }),
    change: set('spec.tolerations', []),
  },
  {
    what: 'later deadline',
    created: pod('u-deadline', { activeDeadlineSeconds: 5 }),
    change: set('spec.activeDeadlineSeconds', 6),
  },
  {
    what: 'no deadline',
    created: pod('u-no-deadline', { activeDeadlineSeconds: 5 }),
    change: set('spec.activeDeadlineSeconds', undefined),
  },
  { what: 'a new gate', created: pod('u-gates', {}), change: set('spec.schedulingGates', [{ name: 'a' }]) },
  {
    what: 'mirror annotation',
    created: pod('u-mirror', {}),
    change: set('metadata.annotations', { 'kubernetes.io/config.mirror': 'x' }),
  },
  { what: 'status with the object itself', created: pod('u-status', {}), change: set('status.phase', 'Running') },
  {
    what: 'status',
    created: pod('u-real-status', {}),
    subresource: 'status',
    change: all(set('status.phase', 'Running'), set('spec.nodeName', 'x'), set('metadata.labels', { x: 'y' })),
  },
  { what: 'qos class', created: pod('u-qos', {}), subresource: 'status', change: set('status.qosClass', 'Guaranteed') },
  {
    what: 'ephemeral container',
    created: pod('u-ephemeral', {}),
    subresource: 'ephemeralcontainers',
    change: all(set('spec.ephemeralContainers', [{ name: 'e', image: 'i' }]), set('spec.nodeName', 'x')),
  },
  { what: 'selector', created: deployment('u-selector', {}), change: set('spec.selector.matchLabels', { x: 'y' }) },
  {
    what: 'replicas',
    created: deployment('u-replicas', {}),
    change: all(set('spec.replicas', 3), set('status.replicas', 3)),
  },
  { what: 'annotations', created: deployment('u-annotations', {}), change: set('metadata.annotations', { a: 'b' }) },
  {
    what: 'status',
    created: deployment('u-d-status', {}),
    subresource: 'status',
    change: all(set('status.replicas', 3), set('spec.replicas', 5), set('metadata.labels', { x: 'y' })),
  },
  {
    what: 'counters',
    created: deployment('u-counters', {}),
    subresource: 'status',
    change: all(set('status.readyReplicas', 3), set('status.availableReplicas', -1)),
  },
  { what: 'service name', created: statefulSet('u-sts', {}), change: set('spec.serviceName', 'other') },
  { what: 'replicas', created: statefulSet('u-sts-replicas', {}), change: set('spec.replicas', 5) },
  { what: 'template', created: daemonSet('u-ds', {}), change: set('spec.template.spec.hostname', 'x') },
  { what: 'selector', created: daemonSet('u-ds-selector', {}), change: set('spec.selector.matchLabels', { x: 'y' }) },
  { what: 'completions', created: job('u-completions', {}), change: set('spec.completions', 5) },
  { what: 'parallelism', created: job('u-parallelism', {}), change: set('spec.parallelism', 5) },
  { what: 'completion mode', created: job('u-mode', {}), change: set('spec.completionMode', 'Indexed') },
  { what: 'schedule', created: cronJob('u-cron', {}), change: set('spec.schedule', 'x') },
  {
    what: 'cluster ip',
    created: service('u-cluster-ip', {}),
    change: all(set('spec.clusterIP', '10.96.1.2'), set('spec.clusterIPs', undefined)),
  },
  {
    what: 'no cluster ip',
    created: service('u-no-cluster-ip', {}),
    change: all(set('spec.clusterIP', undefined), set('spec.clusterIPs', undefined)),
  },
  {
    what: 'headless',
    created: service('u-headless', {}),
    change: all(set('spec.clusterIP', 'None'), set('spec.clusterIPs', ['None'])),
  },
  {
    what: 'ports',
    created: service('u-ports', { type: 'NodePort' }),
    change: set('spec.ports', [
      { name: 'a', port: 80 },
      { name: 'B', port: 81, nodePort: 30_123 },
    ]),
  },
  {
    what: 'load balancer status',
    created: service('u-lb', { type: 'LoadBalancer' }),
    subresource: 'status',
    change: set('status.loadBalancer', { ingress: [{ ip: 'x' }] }),
  },
  {
    what: 'sealed',
    created: object('v1', 'ConfigMap', 'u-sealed', { immutable: true, data: { a: 'b' } }),
    change: all(set('data.a', 'c'), set('immutable', false)),
  },
  {
    what: 'sealed',
    created: object('v1', 'Secret', 'u-sealed', { immutable: true, data: { a: 'AA==' } }),
    change: set('data.a', 'BB=='),
  },
  { what: 'type', created: object('v1', 'Secret', 'u-type'), change: set('type', 'other') },
  {
    what: 'finalizers',
    created: object('v1', 'Namespace', 'u-namespace'),
    change: all(set('spec.finalizers', []), set('status.phase', 'Terminating')),
  },
  {
    what: 'phase',
    created: object('v1', 'Namespace', 'u-phase'),
    subresource: 'status',
    change: set('status.phase', 'Terminating'),
  },
  {
    what: 'finalize',
    created: object('v1', 'Namespace', 'u-finalize'),
    subresource: 'finalize',
    change: set('spec.finalizers', ['plain']),
  },
  {
    what: 'pod cidr',
    created: object('v1', 'Node', 'u-cidr', { spec: { podCIDR: '10.0.0.0/24' } }),
    change: all(set('spec.podCIDR', '10.0.1.0/24'), set('spec.podCIDRs', ['10.0.1.0/24'])),
  },
  {
    what: 'provider',
    created: object('v1', 'Node', 'u-provider', { spec: { providerID: 'a' } }),
    change: set('spec.providerID', 'b'),
  },
  {
    what: 'taints',
    created: object('v1', 'Node', 'u-taints'),
    change: set('spec.taints', [{ key: 'a', effect: 'X' }]),
  },
  {
    what: 'status',
    created: object('v1', 'Node', 'u-node-status'),
    subresource: 'status',
    change: all(
      set('status.addresses', [
        { type: 'Hostname', address: 'a' },
        { type: 'Hostname', address: 'a' },
      ]),
      set('spec.unschedulable', true),
    ),
  },
  {
    what: 'role reference',
    created: object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'u-binding', {
      roleRef: { kind: 'ClusterRole', name: 'view' },
    }),
    change: set('roleRef.name', 'edit'),
  },
  {
    what: 'certificate',
    created: csr('u-csr', {}),
    change: all(set('status.certificate', 'AA=='), set('spec.signerName', 'example.com/other')),
  },
  {
    what: 'approval by the status',
    created: csr('u-csr-status', {}),
    subresource: 'status',
    change: set('status.conditions', [{ type: 'Approved', status: 'True' }]),
  },
  {
    what: 'approval',
    created: csr('u-csr-approval', {}),
    subresource: 'approval',
    change: set('status.conditions', [{ type: 'Approved', status: 'True', reason: 'r' }]),
  },
  {
    what: 'two verdicts',
    created: csr('u-csr-both', {}),
    subresource: 'approval',
    change: set('status.conditions', [
      { type: 'Approved', status: 'True' },
      { type: 'Denied', status: 'True' },
    ]),
  },
  {
    what: 'a verdict taken back',
    created: csr('u-csr-back', {}),
    status: { conditions: [{ type: 'Failed', status: 'True' }] },
    subresource: 'approval',
    change: set('status.conditions', []),
  },
  {
    what: 'a condition that is not true',
    created: csr('u-csr-false', {}),
    subresource: 'approval',
    change: set('status.conditions', [{ type: 'Denied', status: 'False' }, { type: '' }]),
  },
  {
    what: 'reclaim policy',
    created: object('storage.k8s.io/v1', 'StorageClass', 'u-reclaim', { provisioner: 'a' }),
    change: set('reclaimPolicy', 'X'),
  },
  {
    what: 'source',
    created: volume('u-volume', {}),
    change: all(set('spec.hostPath.path', '/y'), set('spec.volumeMode', 'Block')),
  },
  { what: 'storage', created: claim('u-claim', {}), change: set('spec.resources.requests.storage', '2Gi') },
  { what: 'smaller storage', created: claim('u-smaller', {}), change: set('spec.resources.requests.storage', '1Mi') },
  { what: 'type', created: service('u-svc-type', { type: 'NodePort' }), change: set('spec.type', 'ClusterIP') },
  {
    what: 'load balancer to cluster ip',
    created: service('u-lb-type', { type: 'LoadBalancer' }),
    change: set('spec.type', 'ClusterIP'),
  },
  {
    what: 'external name',
    created: service('u-external', {}),
    change: all(set('spec.type', 'ExternalName'), set('spec.externalName', 'a.b')),
  },
  {
    what: 'rolling update taken away',
    created: statefulSet('u-rolling', {}),
    change: set('spec.updateStrategy.rollingUpdate', undefined),
  },
  {
    what: 'suspended template',
    created: job('u-suspended', { suspend: true }),
    change: set('spec.template.spec.nodeSelector', { a: 'b' }),
  },
  {
    what: 'condition',
    created: pod('u-condition', {}),
    subresource: 'status',
    change: set('status.conditions', [
      { type: '', status: 'True' },
      { type: 'Ready', status: 'False' },
    ]),
  },
  {
    what: 'target',
    created: autoscaler('u-hpa', {}),
    change: all(set('spec.scaleTargetRef.kind', 'X'), set('spec.scaleTargetRef.apiVersion', 'v1')),
  },
  {
    what: 'event',
    created: object('events.k8s.io/v1', 'Event', 'u-event', {
      eventTime: '2026-01-02T03:04:05.000006Z',
      reportingController: 'example.com/c',
      reportingInstance: 'i',
      action: 'a',
      reason: 'r',
      type: 'Normal',
      regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
    }),
    change: set('regarding.name', 'q'),
  },
  {
    what: 'parameters',
    created: object('storage.k8s.io/v1', 'StorageClass', 'u-class', { provisioner: 'a' }),
    change: all(set('provisioner', 'b'), set('parameters', { a: 'b' })),
  },
  {
    what: 'value',
    created: object('scheduling.k8s.io/v1', 'PriorityClass', 'u-priority', { value: 1 }),
    change: all(set('value', 2), set('preemptionPolicy', 'Never')),
  },
  {
    what: 'handler',
    created: object('node.k8s.io/v1', 'RuntimeClass', 'u-runtime', { handler: 'a' }),
    change: set('handler', 'b'),
  },
  {
    what: 'holder',
    created: object('coordination.k8s.io/v1', 'Lease', 'u-lease'),
    change: set('spec', { holderIdentity: 'x', leaseDurationSeconds: 0 }),
  },
  {
    what: 'scopes',
    created: object('v1', 'ResourceQuota', 'u-quota', { spec: { hard: { pods: '1' }, scopes: ['BestEffort'] } }),
    change: set('spec.scopes', ['NotBestEffort']),
  },
  {
    what: 'controller',
    created: object('networking.k8s.io/v1', 'IngressClass', 'u-class', { spec: { controller: 'a.b/c' } }),
    change: set('spec.controller', 'a.b/d'),
  },
  {
    what: 'address type',
    created: object('discovery.k8s.io/v1', 'EndpointSlice', 'u-slice', { addressType: 'IPv4', endpoints: [] }),
    change: set('addressType', 'IPv6'),
  },
  {
    what: 'rules',
    created: ingress('u-ingress', { defaultBackend: backend }),
    change: set('spec.defaultBackend', undefined),
  },
]
