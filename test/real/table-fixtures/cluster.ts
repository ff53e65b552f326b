/** Nodes, access, admission and what configures the cluster. */
import { object } from '../codec-fixtures.ts'
import { condition, placeholders, selector, type TableFixture } from './parts.ts'

export function clusterFixtures(): TableFixture[] {
  const node = (name: string, nodeLabels: object, spec: object, status?: object): TableFixture => ({
    object: object('v1', 'Node', `table-${name}`, { metadata: { name: `table-${name}`, labels: nodeLabels }, spec }),
    ...(status === undefined ? {} : { status }),
  })
  const nodeInfo = {
    machineID: '',
    systemUUID: '',
    bootID: '',
    kernelVersion: '6.1.0',
    osImage: 'Debian 12',
    containerRuntimeVersion: 'containerd://2.0',
    kubeletVersion: 'v1.36.4',
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: 'arm64',
  }
  const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'view' })
  const subjects = [
    { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' },
    { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'ops' },
    { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'bob' },
    { kind: 'ServiceAccount', namespace: 'default', name: 'robot' },
  ]
  const admission = 'admissionregistration.k8s.io/v1'
  const binding = (name: string, paramRef?: object): TableFixture => ({
    object: object(admission, 'ValidatingAdmissionPolicyBinding', `table-${name}`, {
      spec: {
        policyName: 'p',
        validationActions: ['Deny'],
        ...(paramRef === undefined ? {} : { paramRef: { parameterNotFoundAction: 'Allow', ...paramRef } }),
      },
    }),
  })
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
  return [
    node(
      'worker',
      { 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/edge': '', 'kubernetes.io/role': 'backup' },
      {},
      {
        nodeInfo,
        conditions: [condition('MemoryPressure', 'False'), condition('Ready')],
        addresses: [
          { type: 'Hostname', address: 'w' },
          { type: 'ExternalIP', address: '192.0.2.3' },
          { type: 'InternalIP', address: '10.0.0.3' },
        ],
      },
    ),
    node(
      'cordoned',
      { 'kubernetes.io/role': '' },
      { unschedulable: true },
      { conditions: [condition('Ready', 'Unknown')] },
    ),
    { object: object('v1', 'Namespace', 'table-leaving', { spec: { finalizers: ['kubernetes'] } }), deleted: true },
    { object: object('v1', 'ConfigMap', 'table', { data: { a: '1', b: '2' }, binaryData: { c: 'AA==' } }) },
    {
      object: object('v1', 'Secret', 'table', {
        type: 'kubernetes.io/basic-auth',
        data: { username: 'YQ==', password: 'Yg==' },
      }),
    },
    {
      object: object('v1', 'ResourceQuota', 'table', { spec: { hard: { pods: '500', 'limits.cpu': '40' } } }),
      status: {
        hard: { pods: '500', 'requests.cpu': '2', 'limits.cpu': '40', 'limits.memory': '1Gi' },
        used: { pods: '3', 'requests.cpu': '500m', 'limits.cpu': '1500m' },
      },
    },
    {
      object: object('rbac.authorization.k8s.io/v1', 'RoleBinding', 'table', {
        roleRef: roleRef('ClusterRole'),
        subjects,
      }),
    },
    {
      object: object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'table', {
        roleRef: roleRef('ClusterRole'),
        subjects,
      }),
    },
    { object: object('coordination.k8s.io/v1', 'Lease', 'table', { spec: { holderIdentity: 'me' } }) },
    {
      object: object('coordination.k8s.io/v1beta1', 'LeaseCandidate', 'table', {
        spec: {
          leaseName: 'l',
          binaryVersion: '1.36.0',
          emulationVersion: '1.35.0',
          strategy: 'OldestEmulationVersion',
        },
      }),
    },
    { object: object('scheduling.k8s.io/v1', 'PriorityClass', 'table', { value: 1000, preemptionPolicy: 'Never' }) },
    { object: object('scheduling.k8s.io/v1', 'PriorityClass', 'table-default', { value: 10, globalDefault: true }) },
    {
      object: object(admission, 'ValidatingAdmissionPolicy', 'table', {
        spec: {
          paramKind,
          matchConstraints: {
            resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
          },
          validations: [{ expression: 'true' }, { expression: 'false' }],
        },
      }),
    },
    binding('named', { name: 'n', namespace: 'default' }),
    binding('starred', { name: 'n' }),
    binding('selected', { selector }),
    binding('bare'),
    {
      object: object(admission, 'MutatingAdmissionPolicy', 'table', {
        spec: {
          failurePolicy: 'Ignore',
          reinvocationPolicy: 'Never',
          matchConstraints: {
            resourceRules: [
              { apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['nothings'], operations: ['CREATE'] },
            ],
          },
          mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/x"}]' } }],
        },
      }),
    },
    { object: object(admission, 'MutatingAdmissionPolicyBinding', 'table', { spec: { policyName: 'none' } }) },
    {
      object: object('apiregistration.k8s.io/v1', 'APIService', 'v1.table.example.com', {
        spec: {
          group: 'table.example.com',
          version: 'v1',
          groupPriorityMinimum: 1,
          versionPriority: 1,
          service: { namespace: 'default', name: 'table' },
          insecureSkipTLSVerify: true,
        },
      }),
    },
    {
      object: object('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'table', {
        spec: {
          matchingPrecedence: 1500,
          priorityLevelConfiguration: { name: 'exempt' },
          distinguisherMethod: { type: 'ByUser' },
        },
      }),
    },
    {
      object: object('certificates.k8s.io/v1beta1', 'ClusterTrustBundle', 'example.com:table:one', {
        spec: { signerName: 'example.com/table', trustBundle: placeholders.certificate },
      }),
    },
    {
      object: object('storagemigration.k8s.io/v1beta1', 'StorageVersionMigration', 'table', {
        spec: { resource: { group: 'apps', resource: 'deployments' } },
      }),
      status: {
        resourceVersion: '1',
        conditions: [
          condition('Running', 'True', { lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'R', message: '' }),
        ],
      },
    },
  ]
}
