/**
 * Objects with zero, nil and empty values in the places where JSON and protobuf tell them apart. The golden files fill
 * every field and therefore never show them.
 */
import { RawJson } from '../../src/kube/codec/json.ts'
import type { KubeObject } from '../../src/kube/objects.ts'

const container = { name: 'c', image: 'i' }
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } }
const selector = { matchLabels: { a: 'b' } }

export function object(apiVersion: string, kind: string, name: string, rest: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { name }, ...rest }
}

/** Namespaced objects go to the namespace `default`. */
export const fixtures: KubeObject[] = [
  object('v1', 'ConfigMap', 'empty'),
  object('v1', 'ConfigMap', 'odd-keys', {
    data: { 10: 'ten', 9: 'nine', a: '', ['__proto__']: 'p', 'k.v': '<&>\u2028"\\\n\t\u0001é😀' },
    binaryData: { empty: '', nine: 'AAEC' },
    immutable: false,
  }),
  object('v1', 'Secret', 'empty-values', { data: { a: '', b: 'AA==' }, type: 'Opaque', immutable: true }),
  object('v1', 'Secret', 'nothing', { data: {} }),
  object('v1', 'Pod', 'minimal', { spec: { containers: [container] } }),
  object('v1', 'Pod', 'zeros', {
    metadata: { name: 'zeros', labels: {}, annotations: { a: '' }, finalizers: [] },
    spec: {
      terminationGracePeriodSeconds: 0,
      activeDeadlineSeconds: 1,
      automountServiceAccountToken: false,
      hostUsers: true,
      enableServiceLinks: false,
      nodeSelector: {},
      tolerations: [{ operator: 'Exists', tolerationSeconds: 0, effect: 'NoExecute' }],
      serviceAccountName: 'plain',
      securityContext: { runAsUser: 0, fsGroup: 0, supplementalGroups: [], sysctls: [] },
      affinity: {},
      volumes: [
        { name: 'default-source' },
        { name: 'empty-dir', emptyDir: { sizeLimit: '1500Mi' } },
        { name: 'mode-zero', configMap: { name: 'x', defaultMode: 0, optional: false, items: [] } },
        { name: 'projected', projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 600 } }] } },
        { name: 'downward', downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
      containers: [
        {
          name: 'c',
          image: 'i',
          command: [],
          env: [
            { name: 'EMPTY', value: '' },
            { name: 'NONE' },
            { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } } },
          ],
          resources: {
            limits: { cpu: '1500m', memory: '1024Mi', 'example.com/x': '2000' },
            requests: { cpu: '0.1', memory: '1e3' },
          },
          ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 0, protocol: 'UDP', name: 'u' }],
          livenessProbe: { exec: { command: [''] }, initialDelaySeconds: 0 },
          readinessProbe: { httpGet: { port: 'u', httpHeaders: [{ name: 'A', value: '' }] } },
          startupProbe: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 1 },
          lifecycle: { preStop: { sleep: { seconds: 0 } } },
          securityContext: { runAsUser: 0, privileged: false, capabilities: { add: [], drop: ['ALL'] } },
          volumeMounts: [{ name: 'empty-dir', mountPath: '/x', subPath: '' }],
          stdin: false,
        },
      ],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {}, matchLabelKeys: [] },
      ],
    },
  }),
  object('v1', 'Service', 'headless', { spec: { clusterIP: 'None', selector: {}, ports: [] } }),
  object('v1', 'Service', 'ports', {
    spec: {
      ports: [
        { name: 'a', port: 80, targetPort: 0 },
        { name: 'b', port: 81, targetPort: 'named' },
      ],
    },
  }),
  object('v1', 'Service', 'external', { spec: { type: 'ExternalName', externalName: 'example.com' } }),
  object('v1', 'Endpoints', 'none', { subsets: [] }),
  object('v1', 'ServiceAccount', 'plain', { automountServiceAccountToken: false, secrets: [], imagePullSecrets: [{}] }),
  object('v1', 'LimitRange', 'limits', {
    spec: { limits: [{ type: 'Container', default: { cpu: '0.5' }, max: { memory: '1G' }, defaultRequest: {} }] },
  }),
  object('v1', 'LimitRange', 'no-limits', { spec: { limits: [] } }),
  object('v1', 'ResourceQuota', 'quota', {
    spec: { hard: { pods: '0', 'requests.cpu': '1000m', 'limits.memory': '1.5Gi' } },
  }),
  object('v1', 'ResourceQuota', 'no-quota', { spec: {} }),
  object('v1', 'ReplicationController', 'rc', { spec: { replicas: 0, selector: { a: 'b' }, template } }),
  object('v1', 'PodTemplate', 'pt', { template }),
  object('v1', 'PersistentVolumeClaim', 'claim', {
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
  }),
  object('v1', 'PersistentVolume', 'volume', {
    spec: { capacity: { storage: '0.5Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x', type: '' } },
  }),
  object('v1', 'Node', 'node', { spec: { taints: [], podCIDRs: [] } }),
  object('v1', 'Event', 'event', {
    involvedObject: { namespace: 'default' },
    eventTime: '2026-01-02T03:04:05.000001Z',
    reportingComponent: 'c.d/e',
    reportingInstance: 'i',
    action: 'a',
    reason: 'r',
    type: 'Normal',
  }),
  object('v1', 'Event', 'old-event', {
    involvedObject: { namespace: 'default' },
    count: 0,
    firstTimestamp: null,
    source: {},
  }),
  object('apps/v1', 'Deployment', 'deployment', {
    spec: {
      replicas: 0,
      selector,
      template,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
    },
  }),
  object('apps/v1', 'Deployment', 'recreate', {
    spec: { selector, template, paused: false, minReadySeconds: 0, strategy: { type: 'Recreate' } },
  }),
  object('apps/v1', 'DaemonSet', 'daemon', { spec: { selector, template, updateStrategy: { type: 'OnDelete' } } }),
  object('apps/v1', 'StatefulSet', 'stateful', {
    spec: {
      serviceName: '',
      selector,
      template,
      volumeClaimTemplates: [],
      ordinals: { start: 0 },
      updateStrategy: { rollingUpdate: { partition: 0 } },
    },
  }),
  object('apps/v1', 'ReplicaSet', 'rs', { spec: { replicas: 0, selector, template } }),
  object('apps/v1', 'ControllerRevision', 'revision', {
    revision: 0,
    data: { 10: 1, 9: 1.0, b: [null, {}], a: 12345678901234567890n },
  }),
  object('batch/v1', 'CronJob', 'cron', {
    spec: {
      schedule: '* * * * *',
      suspend: false,
      startingDeadlineSeconds: 0,
      successfulJobsHistoryLimit: 0,
      jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } } },
    },
  }),
  object('batch/v1', 'Job', 'job', {
    spec: {
      backoffLimit: 0,
      parallelism: 0,
      ttlSecondsAfterFinished: 0,
      template: { spec: { restartPolicy: 'Never', containers: [container] } },
    },
  }),
  object('autoscaling/v2', 'HorizontalPodAutoscaler', 'hpa', {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      maxReplicas: 1,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '100m' } } },
      ],
      behavior: {
        scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 1, periodSeconds: 1 }] },
      },
    },
  }),
  object('networking.k8s.io/v1', 'NetworkPolicy', 'policy', {
    spec: {
      podSelector: {},
      ingress: [{}, { ports: [{ port: 80 }, { port: 'http', protocol: 'UDP' }], from: [{ namespaceSelector: {} }] }],
      policyTypes: ['Ingress'],
    },
  }),
  object('networking.k8s.io/v1', 'Ingress', 'ingress', {
    spec: {
      rules: [
        {
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
          },
        },
      ],
      tls: [{}],
    },
  }),
  object('networking.k8s.io/v1', 'IngressClass', 'class', { spec: { controller: 'example.com/c' } }),
  object('policy/v1', 'PodDisruptionBudget', 'budget', { spec: { maxUnavailable: 0, selector: {} } }),
  object('policy/v1', 'PodDisruptionBudget', 'percent', { spec: { minAvailable: '50%' } }),
  object('rbac.authorization.k8s.io/v1', 'Role', 'no-rules', { rules: [] }),
  object('rbac.authorization.k8s.io/v1', 'ClusterRole', 'aggregate', {
    aggregationRule: { clusterRoleSelectors: [{}] },
    rules: [],
  }),
  object('rbac.authorization.k8s.io/v1', 'RoleBinding', 'no-subjects', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [],
  }),
  object('coordination.k8s.io/v1', 'Lease', 'lease', {
    spec: { holderIdentity: '', renewTime: '2026-01-02T03:04:05.120000Z', acquireTime: null },
  }),
  object('coordination.k8s.io/v1', 'Lease', 'empty-lease', { spec: {} }),
  // Legal, and beyond what most readers expect: none of these may blind a reader of the list that holds it.
  object('coordination.k8s.io/v1', 'Lease', 'year-10000', { spec: { renewTime: '9999-12-31T23:59:59.000000-01:00' } }),
  object('coordination.k8s.io/v1', 'Lease', 'year-0', { spec: { renewTime: '0001-01-01T00:00:00.000000+01:00' } }),
  object('coordination.k8s.io/v1', 'Lease', 'zero-time', { spec: { renewTime: '0001-01-01T00:00:00.000000Z' } }),
  object('v1', 'ResourceQuota', 'huge', {
    spec: { hard: { 'limits.memory': '9'.repeat(200), 'limits.cpu': '1e99999' } },
  }),
  object('apps/v1', 'ControllerRevision', 'deep', {
    revision: 1,
    data: new RawJson(`{"a":${'['.repeat(1500)}${']'.repeat(1500)}}`),
  }),
  object('discovery.k8s.io/v1', 'EndpointSlice', 'slice', {
    addressType: 'IPv4',
    endpoints: [
      { addresses: ['10.0.0.1'], conditions: {} },
      { addresses: ['10.0.0.2'], conditions: { ready: false }, hints: {} },
    ],
    ports: [
      { name: '', port: 80 },
      { name: 'x', port: null, protocol: 'UDP' },
    ],
  }),
  object('discovery.k8s.io/v1', 'EndpointSlice', 'no-endpoints', { addressType: 'IPv6', endpoints: [] }),
  object('storage.k8s.io/v1', 'StorageClass', 'fast', {
    provisioner: 'example.com/p',
    parameters: { a: '' },
    allowVolumeExpansion: false,
  }),
  object('storage.k8s.io/v1', 'CSIDriver', 'driver.example.com', {
    spec: { attachRequired: false, fsGroupPolicy: 'None' },
  }),
  object('storage.k8s.io/v1', 'CSINode', 'csi', {
    spec: { drivers: [{ name: 'd', nodeID: 'n', topologyKeys: null, allocatable: {} }] },
  }),
  object('scheduling.k8s.io/v1', 'PriorityClass', 'low', { value: 0, globalDefault: false, description: '' }),
  object('scheduling.k8s.io/v1', 'PriorityClass', 'negative', { value: -5 }),
  object('node.k8s.io/v1', 'RuntimeClass', 'runtime', {
    handler: 'h',
    overhead: { podFixed: { cpu: '0' } },
    scheduling: {},
  }),
  object('certificates.k8s.io/v1', 'CertificateSigningRequest', 'csr', {
    spec: { signerName: 'example.com/x', usages: ['client auth'], request: '__CSR__', expirationSeconds: 600 },
  }),
  object('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'webhook', {
    webhooks: [
      {
        name: 'w.example.com',
        clientConfig: { url: 'https://example.com/x', caBundle: '' },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        rules: [{ apiGroups: ['none.example.com'], apiVersions: ['v1'], resources: ['x'], operations: ['CREATE'] }],
        namespaceSelector: {},
        timeoutSeconds: 1,
        failurePolicy: 'Ignore',
      },
    ],
  }),
  object('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'no-webhooks', { webhooks: [] }),
  object('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', 'cel', {
    spec: {
      failurePolicy: 'Ignore',
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['none.example.com'], apiVersions: ['v1'], resources: ['x'], operations: ['CREATE'] },
        ],
      },
      validations: [{ expression: 'true', message: '' }],
    },
  }),
  object('apiregistration.k8s.io/v1', 'APIService', 'v1.none.example.com', {
    spec: {
      group: 'none.example.com',
      version: 'v1',
      groupPriorityMinimum: 1,
      versionPriority: 1,
      service: { namespace: 'default', name: 's' },
      insecureSkipTLSVerify: true,
    },
  }),
  object('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', 'level', {
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 0, lendablePercent: 0, limitResponse: { type: 'Reject' } },
    },
  }),
  object('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'flow', {
    spec: { priorityLevelConfiguration: { name: 'level' }, matchingPrecedence: 2, rules: [] },
  }),
  object('resource.k8s.io/v1', 'DeviceClass', 'device', {
    spec: {
      config: [{ opaque: { driver: 'd.example.com', parameters: { b: 1, a: { 2: 0.5, 10: 1e3 } } } }],
      selectors: [{ cel: { expression: 'true' } }],
    },
  }),
  object('resource.k8s.io/v1', 'ResourceClaim', 'resource-claim', {
    spec: {
      devices: {
        requests: [{ name: 'r', exactly: { deviceClassName: 'device', count: 1, allocationMode: 'ExactCount' } }],
      },
    },
  }),
  object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'widgets.none.example.com', {
    spec: {
      group: 'none.example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', shortNames: [] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
          additionalPrinterColumns: [{ name: 'N', type: 'integer', jsonPath: '.spec.n', priority: 0 }],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  default: { open: { 10: 1, 9: 2.5 } },
                  properties: {
                    n: { type: 'integer', minimum: 0, maximum: 1e15, default: 0, format: 'int64' },
                    any: { type: 'object', additionalProperties: true },
                    none: { type: 'object', additionalProperties: { type: 'string', default: '' } },
                    list: { type: 'array', items: { type: 'number', multipleOf: 0.5 }, minItems: 0, maxItems: 0 },
                    text: {
                      type: 'string',
                      enum: ['a', '<b>', ''],
                      default: '',
                      maxLength: 0,
                      pattern: '',
                      nullable: true,
                    },
                    open: { 'x-kubernetes-preserve-unknown-fields': true },
                    number: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
                  },
                  required: [],
                  not: { required: ['x'] },
                  'x-kubernetes-validations': [{ rule: 'true', message: 'm' }],
                },
              },
            },
          },
        },
      ],
    },
  }),
]
