/**
 * The patch engines against the real kube-apiserver: every patch of the table is sent as a dry run and applied by us to
 * the same object. Accepted ones must give the same object, refused ones the same code, reason and message.
 */
import { readFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { unknownOperationFields } from '../../src/kube/patch/json-patch-operations.ts'
import type { JsonObject } from '../../src/kube/patch/json-value.ts'
import {
  applyPatch,
  NoStrategicMergeError,
  PATCH_MEDIA_TYPES,
  type PatchKind,
  patchKindsOf,
} from '../../src/kube/patch/patch.ts'
import { findKind } from '../../src/kube/schema/schema.ts'
import { ApiError } from '../../src/kube/status/status.ts'
import { type ControlPlane, describeReal, kubectl, startControlPlane } from './harness.ts'

const cluster = '/api/v1'
const namespace = `${cluster}/namespaces/default`
const apps = '/apis/apps/v1/namespaces/default'

const container = {
  name: 'main',
  image: 'nginx:1',
  env: ['A', 'B', 'C'].map((name) => ({ name, value: name.toLowerCase() })),
  ports: [
    { containerPort: 80, name: 'http' },
    { containerPort: 443, name: 'https' },
  ],
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
}
const podSpec = {
  containers: [container, { name: 'side', image: 'busybox:1', args: ['sleep', '1'] }],
  volumes: [
    { name: 'data', emptyDir: {} },
    { name: 'conf', configMap: { name: 'conf' } },
  ],
  tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }],
  nodeSelector: { disk: 'ssd' },
  hostAliases: [{ ip: '10.0.0.1', hostnames: ['a', 'b'] }],
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { a: 'b' } } },
  ],
}
const metadata = { name: 'x', labels: { app: 'x', tier: 'front' }, finalizers: ['x.io/a', 'x.io/b'] }

/** What is patched: where it is created, and what. All are named `x`. */
const objects = {
  deployment: [`${apps}/deployments`, { spec: deploymentSpec() }],
  pod: [`${namespace}/pods`, { spec: podSpec }],
  service: [
    `${namespace}/services`,
    {
      spec: {
        selector: { app: 'x' },
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'http', port: 80 },
          { name: 'dns-tcp', port: 53, protocol: 'TCP' },
        ],
      },
    },
  ],
  configMap: [`${namespace}/configmaps`, { data: { a: '1', 'b.txt': '2', c: 'x'.repeat(400_000) } }],
  secret: [`${namespace}/secrets`, { stringData: { key: 'value' } }],
  serviceAccount: [
    `${namespace}/serviceaccounts`,
    { secrets: [{ name: 'one' }, { name: 'two' }], imagePullSecrets: [{ name: 'p1' }, { name: 'p2' }] },
  ],
  node: [
    `${cluster}/nodes`,
    {
      spec: {
        taints: [
          { key: 'a', value: '1', effect: 'NoSchedule' },
          { key: 'a', value: '1', effect: 'NoExecute' },
          { key: 'b', effect: 'NoSchedule' },
        ],
        podCIDR: '10.1.0.0/24',
        podCIDRs: ['10.1.0.0/24'],
      },
      status: {
        conditions: [
          { type: 'Ready', status: 'True', reason: 'r' },
          { type: 'DiskPressure', status: 'False' },
        ],
        addresses: [
          { type: 'InternalIP', address: '10.0.0.9' },
          { type: 'Hostname', address: 'x' },
        ],
        capacity: { cpu: '4', memory: '8Gi' },
      },
    },
  ],
  ingress: [
    '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
    {
      spec: {
        defaultBackend: { service: { name: 'svc', port: { number: 80 } } },
        tls: [{ hosts: ['a.example', 'b.example'], secretName: 's' }],
        rules: [{ host: 'a.example' }, { host: 'b.example' }],
      },
    },
  ],
  disruptionBudget: [
    '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    { spec: { minAvailable: 1, selector: { matchLabels: { a: '1', b: '2' } } } },
  ],
  clusterRole: [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }] },
  ],
  revision: [`${apps}/controllerrevisions`, { revision: 1, data: { a: { b: 1 }, l: [1] } }],
} satisfies Record<string, [string, object]>

type Target = keyof typeof objects

interface Case {
  readonly target: Target
  readonly type: PatchKind
  /** A string is sent as it is. */
  readonly patch: unknown
  /** Ours is compared after the server has read it: for new items that get defaults, unknown fields and nulls. */
  readonly decoded?: true
  readonly status?: true
}

const json = (target: Target, ...patch: object[]): Case => ({ target, type: 'json', patch })
const merge = (target: Target, patch: unknown): Case => ({ target, type: 'merge', patch })
const strategic = (target: Target, patch: unknown): Case => ({ target, type: 'strategic', patch })
const decoded = (one: Case): Case => ({ ...one, decoded: true })
const status = (one: Case): Case => ({ ...one, status: true })
const inPod = (spec: object): object => ({ spec: { template: { spec } } })
const inMain = (changes: object): object => inPod({ containers: [{ name: 'main', ...changes }] })
const env = (...names: string[]): object[] => names.map((name) => ({ name, value: name.toLowerCase() }))
const named = (...names: string[]): object[] => names.map((name) => ({ name }))
const gone = (name: string): object => ({ name, $patch: 'delete' })

const accepted: Case[] = [
  // JSON patch
  json('deployment'),
  { target: 'deployment', type: 'json', patch: 'null' },
  json('deployment', { op: 'replace', path: '/spec/replicas', value: 3 }),
  json('deployment', { op: 'add', path: '/metadata/labels/new', value: 'v' }),
  json('deployment', { op: 'add', path: '/metadata/labels/x.io~1new', value: 'v' }),
  json('deployment', { op: 'replace', path: '/metadata/labels/absent', value: 'v' }),
  json('deployment', { op: 'remove', path: '/metadata/labels/tier' }),
  json('deployment', { op: 'remove', path: '/metadata/finalizers/-1' }),
  json('deployment', { op: 'add', path: '/metadata/finalizers/-', value: 'x.io/z' }),
  json('deployment', { op: 'add', path: '/metadata/finalizers/0', value: 'x.io/z' }),
  json('deployment', { op: 'add', path: '/metadata/finalizers/-1', value: 'x.io/z' }),
  json('deployment', { op: 'add', path: '/metadata/finalizers/2', value: 'x.io/z' }),
  json('deployment', { op: 'replace', path: '/metadata/finalizers/-2', value: 'x.io/z' }),
  json('deployment', { op: 'move', from: '/metadata/finalizers/1', path: '/metadata/finalizers/0' }),
  json('deployment', { op: 'move', from: '/metadata/labels/tier', path: '/metadata/labels/layer' }),
  json('deployment', { op: 'copy', from: '/metadata/labels', path: '/metadata/annotations' }),
  decoded(json('deployment', { op: 'copy', from: '/metadata/labels/absent', path: '/metadata/absent' })),
  json('deployment', { op: 'test', path: '/metadata/labels', value: { tier: 'front', app: 'x' } }),
  json('deployment', { op: 'test', path: '/spec/absent', value: null }),
  json('deployment', { op: 'test', path: '/spec/absent' }),
  json('deployment', { op: 'remove', path: '/spec/template/spec/containers/0/env/1' }),
  decoded(json('deployment', { op: 'add', path: '/spec/template/spec/containers/1/env', value: null })),
  decoded(json('deployment', { op: 'add', path: '/spec/bogus', value: { a: 1 } })),
  decoded(json('deployment', { op: 'add', path: '/metadata/__proto__', value: { polluted: 'yes' } })),
  json('configMap', { op: 'add', path: '/data', value: { only: 'this' } }),
  json(
    'configMap',
    { op: 'add', path: '/data/new', value: 'x' },
    { op: 'copy', from: '/data/new', path: '/data/copy' },
  ),
  json('configMap', { op: 'add', path: '/data/__proto__', value: 'x' }),
  json('node', { op: 'remove', path: '/spec/taints/0' }),
  // merge patch
  merge('deployment', {}),
  merge('deployment', { spec: { replicas: 5 } }),
  merge('deployment', { metadata: { labels: { tier: null, new: 'v' } } }),
  merge('deployment', { metadata: { labels: null } }),
  merge('deployment', { metadata: { finalizers: ['x.io/c'] } }),
  merge('deployment', { metadata: { annotations: { a: 'b', none: null } } }),
  decoded(merge('deployment', inPod({ containers: [{ name: 'only', image: 'i' }] }))),
  merge('configMap', { data: { a: null, z: '26' } }),
  merge('configMap', '{"data":{"__proto__":"x"}}'),
  merge('configMap', { data: null }),
  merge('secret', { data: { key: 'dg==' } }),
  merge('node', { spec: { taints: null } }),
  merge('service', { spec: { selector: { app: null, run: 'y' } } }),
  decoded(merge('ingress', { spec: { rules: [{ host: 'c.example' }], tls: null } })),
  // strategic merge patch: objects
  strategic('deployment', {}),
  strategic('deployment', 'null'),
  strategic('deployment', { spec: { replicas: 5 } }),
  strategic('deployment', { metadata: { labels: { tier: null, none: null, new: 'v' } } }),
  strategic('deployment', { metadata: { labels: null } }),
  strategic('deployment', { metadata: { labels: { $patch: 'replace', only: 'this' } } }),
  strategic('deployment', { metadata: { labels: { $patch: 'delete' } } }),
  strategic('deployment', { metadata: { annotations: { $patch: 'delete' } } }),
  strategic('deployment', inPod({ nodeSelector: { disk: 'hdd', zone: 'z' } })),
  strategic('deployment', inPod({ nodeSelector: { $patch: 'replace', zone: 'z' } })),
  decoded(strategic('deployment', { spec: { bogus: 1, Replicas: 9 } })),
  strategic('deployment', { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } }),
  strategic('deployment', { spec: { strategy: { $retainKeys: ['type'], rollingUpdate: null, type: 'Recreate' } } }),
  strategic('disruptionBudget', { spec: { selector: { matchLabels: { c: '3' } } } }),
  strategic('configMap', { data: { a: null, z: '26' } }),
  strategic('configMap', '{"data":{"__proto__":"x"}}'),
  strategic('revision', { revision: 2 }),
  decoded(strategic('secret', { stringData: { other: 'v' } })),
  // strategic merge patch: lists of scalars
  strategic('deployment', { metadata: { finalizers: ['x.io/c', 'x.io/a'] } }),
  strategic('deployment', { metadata: { finalizers: ['x.io/b', 'x.io/c'] } }),
  strategic('deployment', { metadata: { '$deleteFromPrimitiveList/finalizers': ['x.io/a', 'x.io/q'] } }),
  strategic('deployment', { metadata: { '$deleteFromPrimitiveList/finalizers': null } }),
  strategic('deployment', { metadata: { '$setElementOrder/finalizers': ['x.io/b', 'x.io/a'] } }),
  strategic('deployment', {
    metadata: {
      '$setElementOrder/finalizers': ['x.io/c', 'x.io/b'],
      '$deleteFromPrimitiveList/finalizers': ['x.io/a'],
      finalizers: ['x.io/c'],
    },
  }),
  strategic('deployment', inPod({ containers: [{ name: 'side', args: ['sleep', '2'] }] })),
  strategic(
    'deployment',
    inPod({ containers: [{ name: 'side', '$setElementOrder/args': ['x', 'sleep'], args: ['x'] }] }),
  ),
  strategic('deployment', inMain({ '$deleteFromPrimitiveList/args': ['x'] })),
  strategic('deployment', inPod({ '$setElementOrder/Containers': [], '$setElementOrder/affinity': [] })),
  strategic('node', { spec: { podCIDRs: ['10.1.0.0/24'] } }),
  strategic('clusterRole', { rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }] }),
  // strategic merge patch: lists of objects
  strategic('deployment', inMain({ image: 'nginx:2' })),
  strategic('deployment', inMain({ env: [...env('D'), { name: 'A', value: '9' }] })),
  strategic('deployment', inMain({ env: [gone('B'), ...env('D')] })),
  strategic('deployment', inMain({ env: [{ $patch: 'replace' }, ...env('D', 'C')] })),
  decoded(strategic('deployment', inMain({ env: [gone('A'), gone('B'), gone('C')] }))),
  strategic('deployment', inMain({ env: null })),
  strategic('deployment', inMain({ '$setElementOrder/env': named('C', 'A') })),
  strategic('deployment', inMain({ '$setElementOrder/env': named('D', 'C'), env: [...env('D'), gone('A')] })),
  strategic('deployment', inMain({ '$setElementOrder/env': named('D'), env: [...env('D'), gone('A')] })),
  strategic('deployment', inMain({ '$setElementOrder/env': named('D'), env: env('D') })),
  strategic('deployment', inMain({ '$setElementOrder/env': named('D', 'E'), env: [...env('D', 'E'), gone('B')] })),
  strategic(
    'deployment',
    inMain({ '$setElementOrder/env': named('D', 'B'), env: [{ $patch: 'replace' }, ...env('D')] }),
  ),
  strategic('deployment', inMain({ '$setElementOrder/command': ['a'] })),
  decoded(strategic('deployment', inMain({ '$setElementOrder/env': [], env: env('D', 'E') }))),
  strategic('deployment', inMain({ ports: [{ containerPort: 80, name: 'web' }] })),
  decoded(
    strategic('deployment', inMain({ ports: [{ containerPort: 81 }, { containerPort: 443, $patch: 'delete' }] })),
  ),
  strategic('deployment', inMain({ resources: { limits: { cpu: '1' } } })),
  decoded(strategic('deployment', inPod({ containers: [{ name: 'new', image: 'i', command: null }] }))),
  decoded(strategic('deployment', inPod({ initContainers: [{ name: 'i', image: 'i' }, gone('j')] }))),
  strategic('deployment', inPod({ containers: [gone('side')] })),
  decoded(
    strategic(
      'deployment',
      inPod({ volumes: [{ name: 'data', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/srv' } }] }),
    ),
  ),
  decoded(
    strategic('deployment', inPod({ volumes: [{ name: 'w', $retainKeys: ['name', 'emptyDir'], emptyDir: {} }] })),
  ),
  strategic('deployment', inPod({ tolerations: [{ key: 'z', operator: 'Exists' }] })),
  strategic('deployment', inPod({ hostAliases: [{ ip: '10.0.0.1', hostnames: ['c'] }] })),
  decoded(
    strategic('service', {
      spec: {
        ports: [
          { port: 53, name: 'domain' },
          { port: 81, name: 'alt' },
        ],
      },
    }),
  ),
  decoded(
    strategic('service', {
      spec: {
        '$setElementOrder/ports': [{ port: 53 }, { port: 53 }, { port: 8080 }],
        ports: [
          { name: 'web', port: 8080 },
          { $patch: 'delete', port: 80 },
        ],
      },
    }),
  ),
  strategic('serviceAccount', {
    '$setElementOrder/secrets': named('two', 'three'),
    secrets: [{ name: 'three' }, gone('one')],
  }),
  decoded(strategic('serviceAccount', { imagePullSecrets: [{ name: 'p0' }, gone('p2')] })),
  strategic('node', { spec: { taints: [{ key: 'c', effect: 'NoSchedule' }] } }),
  status(
    strategic('node', {
      status: {
        '$setElementOrder/conditions': [{ type: 'DiskPressure' }, { type: 'Ready' }],
        conditions: [{ type: 'Ready', status: 'False', reason: null }],
      },
    }),
  ),
  status(strategic('node', { status: { addresses: [{ type: 'Hostname', address: 'y' }], capacity: { cpu: '8' } } })),
  decoded(status(strategic('node', { status: { conditions: [{ type: 'MemoryPressure', status: 'False' }] } }))),
  decoded(status(strategic('pod', { status: { conditions: [{ type: 'Ready', status: 'True' }], phase: 'Running' } }))),
  strategic('ingress', { spec: { tls: [{ hosts: ['c.example'] }] } }),
  strategic('ingress', { spec: { defaultBackend: { service: { port: { number: 81 } } } } }),
]

const refused: Case[] = [
  // the text
  ...['', '{', '[1', 'x', '{"a":tru}', '{"a" 1}', '{"a":1,}', '[1,]', '{"a":"\u0001"}', '{"a":"\\x"}', '{}x'].flatMap(
    (patch): Case[] => [
      { target: 'deployment', type: 'json', patch },
      { target: 'deployment', type: 'merge', patch },
      { target: 'deployment', type: 'strategic', patch },
    ],
  ),
  ...['{"a":01}', '{"a":1.}', '{"a":-}', '{"a":1e}', 'é', "'", '{"a":"\\u12g4"}', '[1}', '{"a":1]', '\u0000'].map(
    (patch): Case => ({ target: 'deployment', type: 'merge', patch }),
  ),
  ...['[]', '"s"', '5', 'true'].flatMap((patch): Case[] => [
    { target: 'deployment', type: 'merge', patch },
    { target: 'deployment', type: 'strategic', patch },
  ]),
  merge('deployment', 'null'),
  ...['{}', '"s"', '5', 'true', '[1]', '["s"]', '[[]]', '[null]'].map(
    (patch): Case => ({ target: 'deployment', type: 'json', patch }),
  ),
  // JSON patch
  json('deployment', { op: 5 }),
  json('deployment', { op: 'add', path: {} }),
  json('deployment', { op: 'move', path: '/a', from: true }),
  json('deployment', {}),
  json('deployment', { Op: 'add', path: '/spec/replicas', value: 1 }),
  json('deployment', { op: 'bogus', path: '/a' }),
  json('deployment', { op: 'add', value: 1 }),
  json('deployment', { op: 'add', path: null, value: 1 }),
  json('deployment', { op: 'add', path: '', value: {} }),
  json('deployment', { op: 'add', path: 'spec', value: {} }),
  json('deployment', { op: 'add', path: '/metadata/annotations/a', value: 'b' }),
  json('deployment', { op: 'add', path: '/metadata/finalizers/3', value: 'x.io/z' }),
  json('deployment', { op: 'add', path: '/metadata/finalizers/-4', value: 'x.io/z' }),
  json('deployment', { op: 'add', path: '/metadata/finalizers/x', value: 'x.io/z' }),
  json('deployment', { op: 'remove', path: '/spec/absent' }),
  json('deployment', { op: 'remove', path: '/metadata/finalizers/2' }),
  json('deployment', { op: 'replace', path: '/metadata/finalizers/2', value: 'x.io/z' }),
  json('deployment', { op: 'replace', path: '/metadata/finalizers/-', value: 'x.io/z' }),
  json('deployment', { op: 'replace', path: '', value: 5 }),
  json('deployment', { op: 'replace', path: '', value: [] }),
  json('deployment', { op: 'move', from: '/spec/absent', path: '/spec/x' }),
  json('deployment', { op: 'move', from: '/spec', path: '/spec/template' }),
  json('deployment', { op: 'copy', path: '/spec/x' }),
  json('deployment', { op: 'copy', from: '/a/b', path: '/spec/x' }),
  json('deployment', { op: 'test', path: '/spec/replicas', value: 7 }),
  json('deployment', { op: 'test', path: '/metadata/labels', value: { app: 'x' } }),
  json('deployment', { op: 'add', path: '/__proto__/polluted', value: 'yes' }),
  json('deployment', { op: 'add', path: '/constructor/prototype/polluted', value: 'yes' }),
  json('deployment', ...Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Deployment' }))),
  json('configMap', ...Array.from({ length: 25 }, (_, n) => ({ op: 'copy', from: '/data', path: `/data/${n}` }))),
  // strategic merge patch
  strategic('deployment', inPod({ containers: [{ image: 'i' }] })),
  strategic('deployment', inPod({ containers: ['x'] })),
  strategic('deployment', inPod({ containers: [null] })),
  strategic('deployment', inPod({ containers: [['x']] })),
  strategic('deployment', inPod({ containers: [{ $patch: 'delete' }] })),
  strategic('deployment', inPod({ containers: [{ $patch: 'merge', name: 'main' }] })),
  strategic('deployment', inPod({ containers: [{ $patch: 'foo', name: 'main' }] })),
  strategic('deployment', inPod({ containers: [{ $patch: 5, name: 'main' }] })),
  strategic('deployment', inPod({ containers: [{ $patch: 'replace' }, { image: 'i' }] })),
  strategic('deployment', inPod({ $patch: 'merge' })),
  strategic('deployment', inPod({ $patch: true })),
  strategic('deployment', inPod({ $patch: 'no', a: { B: [1, 'x', 1.5, true, null, 1e-5, 1e21, 12345678.5], b: {} } })),
  strategic('deployment', '{"spec":{"$patch":"no","a":[9007199254740993,123456789012345678901]}}'),
  strategic('deployment', inPod({ $setElementOrder: [] })),
  strategic('deployment', inPod({ '$setElementOrder/containers': 'x' })),
  strategic('deployment', inPod({ '$setElementOrder/containers': null })),
  strategic('deployment', inPod({ '$setElementOrder/containers': ['x'] })),
  strategic('deployment', inPod({ '$setElementOrder/containers': [...named('main', 'side'), 'x'] })),
  strategic('deployment', inPod({ '$setElementOrder/containers': [{ foo: 1 }] })),
  strategic('deployment', inPod({ '$setElementOrder/containers': named('q'), containers: 'x' })),
  strategic('deployment', inPod({ '$setElementOrder/bogus': [] })),
  strategic('deployment', inPod({ '$setElementOrder/serviceAccountName': [] })),
  strategic('deployment', inPod({ '$setElementOrder/securityContext': [] })),
  strategic('deployment', inPod({ volumes: [{ name: 'data', emptyDir: { '$setElementOrder/medium': [] } }] })),
  strategic('deployment', { metadata: { labels: { '$setElementOrder/none': [] } } }),
  strategic('deployment', { metadata: { labels: { '$setElementOrder/app': [] } } }),
  strategic('deployment', inMain({ '$setElementOrder/env': named('A', 'D'), env: env('D', 'A') })),
  strategic('deployment', inMain({ '$setElementOrder/env': named('A'), env: env('D') })),
  strategic('deployment', { metadata: { $deleteFromPrimitiveList: ['a'] } }),
  strategic('deployment', { metadata: { '$deleteFromPrimitiveList/finalizers': [1] } }),
  strategic('deployment', { metadata: { finalizers: [{ a: 1 }] } }),
  strategic('deployment', { metadata: { finalizers: [['x']] } }),
  strategic('deployment', inPod({ '$deleteFromPrimitiveList/tolerations': [{ key: 'k' }] })),
  strategic('deployment', { spec: { strategy: { $retainKeys: 'x' } } }),
  strategic('deployment', { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate', rollingUpdate: {} } } }),
  strategic('serviceAccount', { secrets: [{ namespace: 'x' }] }),
  strategic('service', { spec: { ports: [{ name: 'http', targetPort: 8080 }] } }),
  strategic('revision', { data: { a: { b: 2 } } }),
  strategic('revision', { data: { l: [2] } }),
]

function deploymentSpec(): object {
  return {
    replicas: 2,
    selector: { matchLabels: { app: 'x' } },
    template: { metadata: { labels: { app: 'x' } }, spec: podSpec },
  }
}

function nameOf({ target, type, patch, status: isStatus }: Case): string {
  const text = typeof patch === 'string' ? patch : JSON.stringify(patch)
  return `${type} patch of ${target}${isStatus ? '/status' : ''}: ${text.slice(0, 120)}`
}

function bytesOf(patch: unknown): Uint8Array {
  return Buffer.from(typeof patch === 'string' ? patch : JSON.stringify(patch))
}

/** Ours, on a frozen object: an engine that changes what it is given fails here. */
function patched({ type, patch }: Pick<Case, 'type' | 'patch'>, object: JsonObject): JsonObject {
  const message = findKind(object['apiVersion'] as string, object['kind'] as string)?.message
  return applyPatch({ type, patch: bytesOf(patch), object: deepFreeze(object), message })
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) deepFreeze(child)
  return Object.freeze(value)
}

/** Without what the server counts up on every write, and without what a decoder leaves out. */
function comparable(object: JsonObject): unknown {
  const {
    managedFields: _fields,
    resourceVersion: _version,
    generation: _generation,
    ...rest
  } = object['metadata'] as JsonObject
  return { ...object, metadata: withoutEmpty(rest) }
}

/** An emptied map or list of metadata is not printed. */
function withoutEmpty(object: JsonObject): JsonObject {
  const isEmpty = (value: unknown): boolean => typeof value === 'object' && Object.keys(value ?? {}).length === 0
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)))
}

interface Outcome {
  readonly object?: JsonObject
  readonly failure?: object
}

function outcomeOf(patching: () => JsonObject): Outcome {
  try {
    return { object: patching() }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { failure: failureIn({ ...error.status }) }
  }
}

function failureIn({ code, reason, message, details }: JsonObject): object {
  return { code, reason, message, details }
}

function envOf(deployment: JsonObject): unknown {
  const { spec } = deployment as { spec: { template: { spec: { containers: { env?: object[] }[] } } } }
  return spec.template.spec.containers[0]?.env ?? []
}

/** A different order of letters for each number. */
function scattered(name: string, order: number): number {
  return (name.charCodeAt(0) * (order + 1)) % 7
}

function manifest(spec: object, labels: object, finalizers: string[]): string {
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', labels, finalizers },
    spec,
  })
}

/** Metadata without what changes on every write and without kubectl's note of what it applied. */
function withoutNotes({ metadata: all }: JsonObject): JsonObject {
  const {
    annotations: _annotations,
    managedFields: _fields,
    resourceVersion: _version,
    generation: _generation,
    ...rest
  } = all as JsonObject
  return rest
}

const selector = { matchLabels: { app: 'web' } }
const appliedFirst = manifest(
  {
    replicas: 2,
    selector,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [container, { name: 'side', image: 'busybox:1' }],
        volumes: [
          { name: 'data', emptyDir: {} },
          { name: 'conf', configMap: { name: 'conf' } },
        ],
      },
    },
  },
  { app: 'web', tier: 'front' },
  ['x.io/a', 'x.io/b'],
)
/** What an admission webhook or another client might add behind kubectl's back. */
const injected = inPod({
  containers: [
    { name: 'injected', image: 'i' },
    { name: 'main', env: env('INJECTED') },
  ],
})
const appliedSecond = manifest(
  {
    replicas: 3,
    selector,
    strategy: { type: 'Recreate' },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        initContainers: [{ name: 'init', image: 'busybox:1' }],
        containers: [
          { name: 'side', image: 'busybox:2' },
          {
            ...container,
            env: [...env('D', 'C'), { name: 'A', value: '9' }],
            ports: [
              { containerPort: 443, name: 'https' },
              { containerPort: 8080, name: 'alt' },
            ],
          },
        ],
        volumes: [
          { name: 'data', hostPath: { path: '/srv' } },
          { name: 'extra', emptyDir: {} },
        ],
      },
    },
  },
  { app: 'web' },
  ['x.io/b', 'x.io/c'],
)
/** The body that `kubectl apply -v=9` 1.36 prints for the second, less its annotation. */
const sentByKubectl = {
  metadata: {
    '$deleteFromPrimitiveList/finalizers': ['x.io/a'],
    '$setElementOrder/finalizers': ['x.io/b', 'x.io/c'],
    finalizers: ['x.io/c'],
    labels: { tier: null },
  },
  spec: {
    replicas: 3,
    strategy: { $retainKeys: ['type'], rollingUpdate: null, type: 'Recreate' },
    template: {
      spec: {
        '$setElementOrder/containers': named('side', 'main'),
        '$setElementOrder/volumes': named('data', 'extra'),
        containers: [
          { image: 'busybox:2', name: 'side' },
          {
            '$setElementOrder/env': named('D', 'C', 'A'),
            '$setElementOrder/ports': [{ containerPort: 443 }, { containerPort: 8080 }],
            env: [...env('D'), { name: 'A', value: '9' }, gone('B')],
            name: 'main',
            ports: [
              { containerPort: 8080, name: 'alt' },
              { $patch: 'delete', containerPort: 80 },
            ],
          },
        ],
        initContainers: [{ image: 'busybox:1', name: 'init' }],
        volumes: [
          { $retainKeys: ['hostPath', 'name'], emptyDir: null, hostPath: { path: '/srv' }, name: 'data' },
          { emptyDir: {}, name: 'extra' },
          gone('conf'),
        ],
      },
    },
  },
}

describeReal('patches', () => {
  let plane: ControlPlane
  let agent: Agent
  const live = new Map<Target, JsonObject>()

  beforeAll(async () => {
    plane = await startControlPlane()
    agent = new Agent({ connect: { ca: await readFile(plane.caFile) } })
    for (const [target, [path, body]] of Object.entries(objects)) {
      expect(await send('POST', path, { metadata, ...body }), target).toMatchObject({ code: 201 })
      live.set(target as Target, (await send('GET', `${path}/x`)).body)
    }
  })

  afterAll(async () => {
    await agent?.close()
    await plane?.stop()
  })

  async function send(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    path: string,
    body?: unknown,
    type = 'application/json',
  ) {
    const response = await request(`${plane.server}${path}`, {
      method,
      dispatcher: agent,
      headers: { authorization: `Bearer ${plane.adminToken}`, 'content-type': type },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { code: response.statusCode, body: (await response.body.json()) as JsonObject }
  }

  function pathOf({ target, status: isStatus }: Case): string {
    return `${objects[target][0]}/x${isStatus ? '/status' : ''}?dryRun=All`
  }

  function objectOf(target: Target): JsonObject {
    return live.get(target) ?? expect.fail(`${target} was not created`)
  }

  async function answerOf(one: Case) {
    return await send('PATCH', pathOf(one), one.patch, PATCH_MEDIA_TYPES[one.type])
  }

  it.each(accepted.map((one) => [nameOf(one), one] as const))('%s', async (_name, one) => {
    const theirs = await answerOf(one)
    expect(theirs).toMatchObject({ code: 200 })
    const ours = patched(one, objectOf(one.target))
    if (!one.decoded) {
      expect(comparable(ours)).toEqual(comparable(theirs.body))
      return
    }
    const read = await send('PUT', pathOf(one), ours)
    expect(read).toMatchObject({ code: 200 })
    expect(comparable(read.body)).toEqual(comparable(theirs.body))
  })

  it.each(refused.map((one) => [nameOf(one), one] as const))('refuses %s', async (_name, one) => {
    const theirs = await answerOf(one)
    const object = objectOf(one.target)
    const before = JSON.stringify(object)
    expect(outcomeOf(() => patched(one, object))).toEqual({ failure: failureIn(theirs.body) })
    expect(JSON.stringify(object)).toBe(before)
    expect(({} as JsonObject)['polluted']).toBeUndefined()
  })

  it('warns of unknown fields in the operations of a JSON patch', async () => {
    const patch = [{ op: 'test', path: '/kind', value: 'Deployment', extra: 1 }, null, { OP: 1, path: '/a', op: 'add' }]
    const strict = await send(
      'PATCH',
      `${apps}/deployments/x?dryRun=All&fieldValidation=Strict`,
      patch.slice(0, 1),
      PATCH_MEDIA_TYPES.json,
    )
    const [first] = unknownOperationFields(patch)
    expect(strict.body['message']).toContain(`strict decoding error: ${first}`)
    expect(unknownOperationFields(patch)).toEqual([
      'json patch unknown field "[0].extra"',
      'json patch unknown field "[2].OP"',
    ])
  })

  it('takes no strategic merge patch for a kind without a schema', async () => {
    const names = { plural: 'tides', kind: 'Tide' }
    const schema = { openAPIV3Schema: { type: 'object' } }
    const versions = [{ name: 'v1', served: true, storage: true, schema }]
    await kubectl(
      plane,
      ['create', '-f', '-'],
      JSON.stringify({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'tides.example.com' },
        spec: { group: 'example.com', scope: 'Cluster', names, versions },
      }),
    )
    await kubectl(plane, ['wait', '--for=condition=Established', 'crd/tides.example.com', '--timeout=120s'])
    const strategicType = PATCH_MEDIA_TYPES.strategic
    // An established kind is served a moment later.
    const answer = (): ReturnType<typeof send> => send('PATCH', '/apis/example.com/v1/tides/x', {}, strategicType)
    await expect.poll(async () => (await answer()).code).toBe(415)
    const { body } = await answer()
    const offered = String(body['message']).split(': ')[1]?.split(', ')
    expect(offered).toEqual([
      ...patchKindsOf(undefined).map((kind) => PATCH_MEDIA_TYPES[kind]),
      'application/apply-patch+yaml',
    ])
    const object = { apiVersion: 'example.com/v1', kind: 'Tide' }
    expect(() => patched({ type: 'strategic', patch: {} }, object)).toThrow(NoStrategicMergeError)
  })

  it('orders random lists like the server', async () => {
    const names = fc.uniqueArray(fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F', 'G'), { maxLength: 6 })
    const patches = fc.record({ set: names, deleted: names, hasOrder: fc.boolean(), extra: names, shuffle: fc.nat(5) })
    for (const { set, deleted, hasOrder, extra, shuffle } of fc.sample(patches, { numRuns: 300, seed: 36 })) {
      const removed = deleted.filter((name) => !set.includes(name))
      const kept = [...set, ...extra.filter((name) => !set.includes(name) && !removed.includes(name))]
      const order = kept.toSorted((a, b) => scattered(a, shuffle) - scattered(b, shuffle))
      const change = [...env(...order.filter((name) => set.includes(name))), ...removed.map(gone)]
      const one = strategic(
        'deployment',
        inMain({
          ...(hasOrder && order.length > 0 ? { '$setElementOrder/env': named(...order) } : {}),
          env: change,
        }),
      )
      const theirs = await answerOf(one)
      expect(theirs, nameOf(one)).toMatchObject({ code: 200 })
      const ours = patched(one, objectOf('deployment'))
      expect(envOf(ours), JSON.stringify(one.patch)).toEqual(envOf(theirs.body))
    }
  })

  it('applies random JSON patches like the server', async () => {
    const list = '/spec/template/spec/containers/1/args'
    const path = fc
      .constantFrom('', '/0', '/1', '/2', '/3', '/-', '/-1', '/-3', '/01', '/x', '/0/y')
      .map((end) => list + end)
    const value = fc.constantFrom<unknown>('sleep', '1', 'new', [], ['x', 'y'], undefined)
    const operation = fc.record({
      op: fc.constantFrom('add', 'add', 'remove', 'replace', 'move', 'copy', 'test'),
      path,
      from: path,
      value,
    })
    const patches = fc.array(operation, { minLength: 1, maxLength: 4 })
    let applied = 0
    for (const patch of fc.sample(patches, { numRuns: 400, seed: 36 })) {
      const one = json('deployment', ...patch)
      const theirs = await answerOf(one)
      const outcome = outcomeOf(() => patched(one, objectOf('deployment')))
      if (outcome.failure !== undefined) {
        expect(outcome.failure, nameOf(one)).toEqual(failureIn(theirs.body))
        continue
      }
      const read = await send('PUT', pathOf(one), outcome.object)
      // What the decoder cannot read has another code in a PUT than in a PATCH.
      expect(read.code === 200, nameOf(one)).toBe(theirs.code === 200)
      if (read.code !== 200) continue
      applied++
      expect(comparable(read.body), nameOf(one)).toEqual(comparable(theirs.body))
    }
    expect(applied).toBeGreaterThan(50)
  })

  it('does what kubectl apply does', async () => {
    const path = `${apps}/deployments/web`
    await kubectl(plane, ['apply', '-f', '-'], appliedFirst)
    await send('PATCH', path, injected, PATCH_MEDIA_TYPES.strategic)
    const before = (await send('GET', path)).body
    await kubectl(plane, ['apply', '-f', '-'], appliedSecond)
    const after = (await send('GET', path)).body
    const ours = patched({ type: 'strategic', patch: sentByKubectl }, before)
    const read = await send('PUT', `${path}?dryRun=All`, { ...ours, metadata: withoutNotes(ours) })
    expect(read).toMatchObject({ code: 200 })
    expect({ ...read.body, metadata: withoutNotes(read.body) }).toEqual({ ...after, metadata: withoutNotes(after) })
  })
})
