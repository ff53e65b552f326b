/** Random objects of the kinds that the edge rewrites, and random edits that fit them. */
import * as fc from 'fast-check'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { ANY_ITEM, type FieldEdit, type FieldPath } from '../../../src/kube/walker/walker.ts'

/** Lengths around the borders at which the varint of a length grows by a byte. */
const borderLengths = [126, 127, 128, 16_383, 16_384]

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  { weight: 2, arbitrary: fc.constantFrom('', '"', '\\', '\\"', '\u2028<&>', '{"a":[1,2]}', '}', ']', 'äöü', '🚣') },
  { weight: 1, arbitrary: fc.constantFrom(...borderLengths).map((length) => 'x'.repeat(length)) },
)
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', '0', '10', '2', 'kubeconfig.conf', 'name'))
const port = fc.integer({ min: 0, max: 65_535 })
const portName = fc.constantFrom('http', 'https', 'metrics', '')
const envName = fc.constantFrom('KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT', 'HOME', '')
const texts = fc.array(text, { maxLength: 4 })
const textMap = fc.array(fc.tuple(key, text), { maxLength: 4 }).map((entries) => Object.fromEntries(entries))
const bytesMap = textMap.map((map) => mapValues(map, (value) => Buffer.from(value).toString('base64')))
const quantity = fc.constantFrom('0', '1', '500m', '64Mi', '3e6')
const optional = { requiredKeys: [] }

const metadata = fc.record(
  {
    name: text,
    namespace: text,
    uid: text,
    resourceVersion: text,
    generation: fc.integer({ min: 1 }),
    creationTimestamp: fc.constant('2026-01-02T03:04:05Z'),
    labels: textMap,
    annotations: textMap,
  },
  optional,
)

const service = fc.record({
  kind: fc.constant('Service'),
  apiVersion: fc.constant('v1'),
  metadata,
  spec: fc.record(
    {
      ports: fc.array(fc.record({ name: portName, port, targetPort: fc.oneof(port, text), nodePort: port }, optional), {
        maxLength: 4,
      }),
      selector: textMap,
      clusterIP: text,
      clusterIPs: texts,
      type: text,
      sessionAffinityConfig: fc.record({ clientIP: fc.record({ timeoutSeconds: fc.nat() }, optional) }, optional),
      publishNotReadyAddresses: fc.boolean(),
    },
    optional,
  ),
})

const container = fc.record(
  {
    name: text,
    image: text,
    env: fc.array(fc.record({ name: envName, value: text }, optional), { maxLength: 3 }),
    resources: fc.record({ limits: fc.dictionary(fc.constantFrom('cpu', 'memory', '__proto__'), quantity) }, optional),
  },
  optional,
)

const volume = fc.oneof(
  fc.record({ name: text, hostPath: fc.record({ path: text }) }),
  fc.record({ name: text, emptyDir: fc.record({ medium: text }, optional) }),
  fc.record({ name: text }),
)

const pod = fc.record({
  kind: fc.constant('Pod'),
  apiVersion: fc.constant('v1'),
  metadata,
  spec: fc.record(
    {
      containers: fc.array(container, { maxLength: 3 }),
      ephemeralContainers: fc.array(container, { maxLength: 2 }),
      volumes: fc.array(volume, { maxLength: 3 }),
      hostAliases: fc.array(fc.record({ ip: text, hostnames: texts }), { maxLength: 2 }),
      terminationGracePeriodSeconds: fc.maxSafeInteger(),
      nodeName: text,
    },
    optional,
  ),
})

const endpointSlice = fc.record({
  kind: fc.constant('EndpointSlice'),
  apiVersion: fc.constant('discovery.k8s.io/v1'),
  metadata,
  addressType: text,
  endpoints: fc.array(
    fc.record({ addresses: texts, conditions: fc.record({ ready: fc.boolean() }, optional), nodeName: text }, optional),
    { maxLength: 4 },
  ),
  ports: fc.array(fc.record({ name: portName, port }, optional), { maxLength: 3 }),
})

const configMap = fc.record(
  {
    kind: fc.constant('ConfigMap'),
    apiVersion: fc.constant('v1'),
    metadata,
    data: textMap,
    binaryData: bytesMap,
    immutable: fc.boolean(),
  },
  { requiredKeys: ['kind', 'apiVersion', 'metadata'] },
)

const accessReview = fc.record({
  kind: fc.constant('SubjectAccessReview'),
  apiVersion: fc.constant('authorization.k8s.io/v1'),
  metadata,
  spec: fc.record({ user: text, extra: fc.dictionary(key, texts, { maxKeys: 3 }) }, optional),
})

/** Places by kind, and what may stand there; every kind has those of `commonPlaces` too. */
type Place = readonly [path: FieldPath, value: fc.Arbitrary<unknown>]

const commonPlaces: Place[] = [
  [['metadata', 'name'], text],
  [['metadata', 'resourceVersion'], text],
  [['metadata', 'generation'], fc.nat()],
  [['metadata', 'creationTimestamp'], fc.constant('2027-01-02T03:04:05Z')],
  [['metadata', 'labels'], textMap],
  [['metadata', 'annotations', '__proto__'], text],
  [['metadata', 'annotations', '10'], text],
  [['metadata', 'labels', 'name', 'no', 'further'], text],
  [['metadata', 'labels', 0], text],
  [['metadata', ANY_ITEM, 'name'], text],
  [['nothing', 'here'], text],
]

const portMatch = { key: 'name', equals: 'https' }
const hostMatch = { key: 'name', equals: 'KUBERNETES_SERVICE_HOST' }

const placesByKind: Record<string, Place[]> = {
  Service: [
    [['spec', 'clusterIP'], text],
    [['spec', 'clusterIPs'], texts],
    [['spec', 'clusterIPs', 0], text],
    [['spec', 'clusterIPs', ANY_ITEM], text],
    [['spec', 'ports'], fc.array(fc.record({ name: portName, port }), { maxLength: 3 })],
    [['spec', 'ports', portMatch, 'port'], port],
    [['spec', 'ports', portMatch], fc.record({ name: portName, port })],
    [['spec', 'ports', ANY_ITEM], fc.record({ name: portName, port })],
    [['spec', 'ports', 1, 'name'], portName],
    [['spec', 'ports', ANY_ITEM, 'targetPort'], fc.oneof(port, text)],
    [['spec', 'selector', 'name'], text],
    [['spec', 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds'], fc.nat()],
    [['spec', 'publishNotReadyAddresses'], fc.boolean()],
  ],
  Pod: [
    [['spec', 'containers', ANY_ITEM, 'env', hostMatch, 'value'], text],
    [['spec', 'containers', 0, 'env'], fc.array(fc.record({ name: envName, value: text }), { maxLength: 3 })],
    [['spec', 'containers', ANY_ITEM, 'resources', 'limits', 'cpu'], quantity],
    [['spec', 'ephemeralContainers', ANY_ITEM, 'image'], text],
    [['spec', 'volumes', ANY_ITEM, 'hostPath', 'path'], text],
    [['spec', 'volumes', ANY_ITEM, 'hostPath'], fc.record({ path: text })],
    [['spec', 'volumes', { key: 'name', equals: '' }, 'emptyDir'], fc.record({ medium: text })],
    [['spec', 'hostAliases', ANY_ITEM, 'hostnames', 1], text],
    [['spec', 'terminationGracePeriodSeconds'], fc.maxSafeInteger()],
    [['spec', 'securityContext'], fc.record({ runAsUser: fc.nat() })],
  ],
  EndpointSlice: [
    [['endpoints', ANY_ITEM, 'addresses'], texts],
    [['endpoints', ANY_ITEM, 'addresses', 0], text],
    [['endpoints', ANY_ITEM, 'conditions', 'ready'], fc.boolean()],
    [['endpoints', 2], fc.record({ addresses: texts, nodeName: text })],
    [['ports', portMatch, 'port'], port],
    [['ports'], fc.array(fc.record({ name: portName, port }), { maxLength: 3 })],
  ],
  ConfigMap: [
    [['data', 'kubeconfig.conf'], text],
    [['data', '__proto__'], text],
    [['data'], textMap],
    [['binaryData', '2'], text.map((value) => Buffer.from(value).toString('base64'))],
    [['immutable'], fc.boolean()],
  ],
  SubjectAccessReview: [
    [['spec', 'extra', 'name'], texts],
    [['spec', 'extra', 'name', 0], text],
    [['spec', 'extra', '__proto__', ANY_ITEM], text],
    [['spec', 'user'], text],
  ],
}

export const arbitraryObject: fc.Arbitrary<KubeObject> = fc.oneof(service, pod, endpointSlice, configMap, accessReview)

/** Edits that set, remove, keep, or change depending on what is there. */
export function arbitraryEdits(object: KubeObject): fc.Arbitrary<FieldEdit[]> {
  const places = [...commonPlaces, ...(placesByKind[object.kind ?? ''] ?? [])]
  const edit = fc
    .constantFrom(...places)
    .chain(([path, value]) =>
      fc.oneof(
        { weight: 4, arbitrary: value.map((wanted) => ({ path, replace: () => wanted })) },
        { weight: 2, arbitrary: fc.constant({ path, replace: () => undefined }) },
        { weight: 1, arbitrary: fc.constant({ path, replace: (present: unknown) => present }) },
        { weight: 1, arbitrary: value.map((wanted) => ({ path, replace: (present: unknown) => present && wanted })) },
      ),
    )
  return fc.array(edit, { minLength: 1, maxLength: 3 })
}

/** A list of objects of one kind, its items without their types, as an API server sends them. */
export const arbitraryList: fc.Arbitrary<KubeObject> = fc
  .tuple(
    fc.constantFrom(service, pod, endpointSlice, configMap),
    fc.record({ resourceVersion: text, continue: text, remainingItemCount: fc.nat() }, optional),
  )
  .chain(([item, listMetadata]) =>
    fc.array(item as fc.Arbitrary<KubeObject>, { minLength: 1, maxLength: 5 }).map((objects) => ({
      kind: `${objects[0]?.kind}List`,
      apiVersion: objects[0]?.apiVersion ?? '',
      metadata: listMetadata,
      items: objects.map(({ kind: _kind, apiVersion: _apiVersion, ...rest }) => rest),
    })),
  )

function mapValues(map: Record<string, string>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]))
}
