/**
 * Conversion between versions against the real kube-apiserver: an object is written in one version and read in all of
 * them, and what we make of one reading must be the other, letter by letter.
 */
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fromStored, toStored } from '../../src/apiserver/objects/conversion/conversion.ts'
import { parseJson, printJson } from '../../src/kube/codec/json.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

function named(apiVersion: string, kind: string, name: string, rest: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { name }, ...rest }
}

const autoscaling = ['autoscaling/v1', 'autoscaling/v2']
const devices = ['resource.k8s.io/v1beta1', 'resource.k8s.io/v1beta2', 'resource.k8s.io/v1']
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
const metric = { name: 'm', selector: { matchLabels: { a: 'b' } } }
const describedObject = { kind: 'Service', name: 's', apiVersion: 'v1' }
const percent = (averageUtilization: number): object => ({ type: 'Utilization', averageUtilization })
const value = { type: 'Value', value: '1500m' }
const average = { type: 'AverageValue', averageValue: '2k' }
const metrics = [
  { type: 'Resource', resource: { name: 'memory', target: percent(60) } },
  { type: 'Resource', resource: { name: 'cpu', target: average } },
  { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c', target: percent(50) } },
  { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'e', target: average } },
  { type: 'Pods', pods: { metric, target: average } },
  { type: 'Object', object: { describedObject, metric, target: value } },
  { type: 'Object', object: { describedObject, metric: { name: '<&>' }, target: average } },
  { type: 'External', external: { metric, target: value } },
  { type: 'External', external: { metric: { name: 'x' }, target: average } },
  // Last, where v1 puts it: v1 does not remember the place.
  { type: 'Resource', resource: { name: 'cpu', target: percent(70) } },
]
const current = { value: '3', averageValue: '4' }
const currentMetrics = [
  { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 40, averageValue: '5m' } } },
  { type: 'Resource', resource: { name: 'memory', current: { averageValue: '6Mi' } } },
  { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c', current: { averageValue: '7' } } },
  { type: 'Pods', pods: { metric, current: { averageValue: '8' } } },
  { type: 'Object', object: { describedObject, metric, current } },
  { type: 'External', external: { metric, current } },
]
const conditions = [{ type: 'AbleToScale', status: 'True', lastTransitionTime: null, reason: 'r', message: '"m"' }]
const behavior = {
  scaleUp: { policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }], selectPolicy: 'Min' },
  scaleDown: { stabilizationWindowSeconds: 30, policies: [{ type: 'Percent', value: 10, periodSeconds: 60 }] },
}
const carrier = (name: string, annotation: string): object => ({
  metadata: { name, annotations: { 'autoscaling.alpha.kubernetes.io/metrics': annotation, z: '1' } },
})
const autoscaler = (version: string, name: string, spec: object, rest: object = {}): KubeObject =>
  named(`autoscaling/${version}`, 'HorizontalPodAutoscaler', name, {
    spec: { scaleTargetRef, maxReplicas: 3, ...spec },
    ...rest,
  })
const memory = [{ type: 'Resource', resource: { name: 'memory', targetAverageValue: '1Gi' } }]
const about = { kind: 'Pod', namespace: 'sub', name: 'p', uid: 'u', apiVersion: 'v1', fieldPath: 'spec' }
const requests = [
  { name: 'r', exactly: { deviceClassName: 'c', allocationMode: 'ExactCount', count: 2 } },
  {
    name: 's',
    firstAvailable: [{ name: 'f', deviceClassName: 'c', selectors: [{ cel: { expression: 'true' } }] }],
  },
]
const oldRequests = [
  { name: 'r', deviceClassName: 'c', selectors: [{ cel: { expression: 'true' } }], adminAccess: false },
]
const pool = { name: 'pool', generation: 1, resourceSliceCount: 1 }
const attributes = { attributes: { a: { int: 1 }, b: { string: 's' } }, capacity: { c: { value: '1Gi' } } }
const slice = (version: string, name: string, device: object): KubeObject =>
  named(`resource.k8s.io/${version}`, 'ResourceSlice', name, {
    spec: { driver: 'd.io', pool: { ...pool, name }, nodeName: 'n', devices: [{ name: 'dev', ...device }] },
  })

/** The last version is the stored one. */
type Sample = [what: string, path: string, versions: readonly string[], object: KubeObject, status?: object]
const hpas = 'namespaces/sub/horizontalpodautoscalers'
const events = 'namespaces/sub/events'
const samples: Sample[] = [
  [
    'all metrics',
    hpas,
    autoscaling,
    autoscaler('v2', 'full', { minReplicas: 2, metrics, behavior }),
    {
      currentReplicas: 1,
      desiredReplicas: 2,
      lastScaleTime: '2026-01-02T03:04:05Z',
      currentMetrics,
      conditions,
    },
  ],
  ['the least of v2', hpas, autoscaling, autoscaler('v2', 'least', {})],
  ['one way of behaviour', hpas, autoscaling, autoscaler('v2', 'up', { behavior: { scaleUp: behavior.scaleUp } })],
  ['the least of v1', hpas, autoscaling, autoscaler('v1', 'old-least', {})],
  ['v1 with a target', hpas, autoscaling, autoscaler('v1', 'old', { targetCPUUtilizationPercentage: 55 })],
  [
    'v1 with carried metrics',
    hpas,
    autoscaling,
    autoscaler('v1', 'carrier', {}, carrier('carrier', JSON.stringify(memory))),
  ],
  ['v1 with a broken carrier', hpas, autoscaling, autoscaler('v1', 'broken', {}, carrier('broken', '{'))],
  [
    'a core event',
    events,
    ['events.k8s.io/v1', 'v1'],
    named('v1', 'Event', 'core', {
      metadata: { name: 'core', namespace: 'sub' },
      involvedObject: about,
      reason: 'R',
      message: 'M',
      type: 'Normal',
      count: 3,
      source: { component: 'c', host: 'h' },
      firstTimestamp: '2026-01-02T03:04:05Z',
      lastTimestamp: '2026-01-02T03:04:06Z',
    }),
  ],
  [
    'a new event',
    events,
    ['events.k8s.io/v1', 'v1'],
    named('events.k8s.io/v1', 'Event', 'new', {
      metadata: { name: 'new', namespace: 'sub' },
      regarding: about,
      related: about,
      reason: 'R',
      note: 'N',
      type: 'Warning',
      action: 'A',
      eventTime: '2026-01-02T03:04:05.000006Z',
      reportingController: 'x.io/y',
      reportingInstance: 'i',
      series: { count: 2, lastObservedTime: '2026-01-02T03:04:05.000007Z' },
    }),
  ],
  [
    'a claim',
    'namespaces/sub/resourceclaims',
    devices,
    named('resource.k8s.io/v1', 'ResourceClaim', 'claim', {
      spec: { devices: { requests } },
    }),
  ],
  [
    'an old claim',
    'namespaces/sub/resourceclaims',
    devices,
    named('resource.k8s.io/v1beta1', 'ResourceClaim', 'old', {
      spec: { devices: { requests: oldRequests } },
    }),
  ],
  [
    'an empty claim',
    'namespaces/sub/resourceclaims',
    devices,
    named('resource.k8s.io/v1', 'ResourceClaim', 'empty', {
      spec: {},
    }),
  ],
  [
    'a template',
    'namespaces/sub/resourceclaimtemplates',
    devices,
    named('resource.k8s.io/v1', 'ResourceClaimTemplate', 't', {
      spec: { metadata: { labels: { a: 'b' } }, spec: { devices: { requests } } },
    }),
  ],
  ['a slice', 'resourceslices', devices, slice('v1', 'slice', attributes)],
  ['an old slice', 'resourceslices', devices, slice('v1beta1', 'old', { basic: attributes })],
  [
    'versions of one shape',
    'servicecidrs',
    ['networking.k8s.io/v1beta1', 'networking.k8s.io/v1'],
    named('networking.k8s.io/v1', 'ServiceCIDR', 'range', { spec: { cidrs: ['10.97.0.0/24'] } }),
  ],
]

let plane: ControlPlane
let agent: Agent

async function send(method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<string> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const response = await request(plane.server + path, {
    method,
    dispatcher: agent,
    headers: { authorization: `Bearer ${plane.adminToken}`, 'content-type': type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = (await response.body.text()).trimEnd()
  expect(response.statusCode, text).toBeLessThan(300)
  return text
}

describeReal('conversion', () => {
  beforeAll(async () => {
    plane = await startControlPlane({ apiServerFlags: ['--runtime-config=api/all=true'] })
    agent = new Agent({ connect: { ca: await readFile(plane.caFile) } })
    await send('POST', '/api/v1/namespaces', named('v1', 'Namespace', 'sub'))
  })

  afterAll(async () => {
    await agent?.destroy()
    await plane?.stop()
  })

  it.each(samples)('of %s', async (_what, path, versions, object, status) => {
    const at = (version = ''): string => `${version === 'v1' ? '/api' : '/apis'}/${version}/${path}`
    const name = object.metadata?.name ?? ''
    await send('POST', at(object.apiVersion), object)
    if (status !== undefined) await send('PATCH', `${at(object.apiVersion)}/${name}/status`, { status })
    const texts = new Map<string, string>()
    for (const version of versions) texts.set(version, await send('GET', `${at(version)}/${name}`))
    const stored = versions.at(-1) ?? ''
    const read = (version: string): KubeObject => parseJson(texts.get(version) ?? '') as KubeObject
    for (const version of versions) {
      expect.soft(printJson(toStored(read(version), stored)), `from ${version}`).toBe(texts.get(stored))
      expect.soft(printJson(fromStored(read(stored), version)), `to ${version}`).toBe(texts.get(version))
    }
  })
})
