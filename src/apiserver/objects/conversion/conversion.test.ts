import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { printJson } from '../../../kube/codec/json.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { fromStored, toStored } from './conversion.ts'

const scaleTargetRef = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' }
const amount = fc.integer({ min: 1, max: 999 }).map(String)
const percent = fc.integer({ min: 1, max: 200 })
const metricName = fc.record(
  { name: fc.string({ minLength: 1 }), selector: fc.constant({ matchLabels: { a: 'b' } }) },
  { requiredKeys: ['name'] },
)
const value = amount.map((text) => ({ type: 'Value', value: text }))
const average = amount.map((text) => ({ type: 'AverageValue', averageValue: text }))
const utilization = percent.map((averageUtilization) => ({ type: 'Utilization', averageUtilization }))
const describedObject = fc.constant({ kind: 'Service', name: 's' })

/** All but the use of CPU in percent, which v1 has a field for. */
const otherMetric = fc.oneof(
  fc
    .record({ name: fc.constant('memory'), target: fc.oneof(utilization, average) })
    .map((resource) => ({ type: 'Resource', resource })),
  fc
    .record({ name: fc.constant('cpu'), target: fc.oneof(utilization, average), container: fc.constant('c') })
    .map((containerResource) => ({ type: 'ContainerResource', containerResource })),
  fc.record({ metric: metricName, target: average }).map((pods) => ({ type: 'Pods', pods })),
  fc
    .record({ describedObject, target: fc.oneof(value, average), metric: metricName })
    .map((object) => ({ type: 'Object', object })),
  fc
    .record({ metric: metricName, target: fc.oneof(value, average) })
    .map((external) => ({ type: 'External', external })),
)
const rules = fc.record(
  {
    stabilizationWindowSeconds: fc.nat(3600),
    selectPolicy: fc.constantFrom('Max', 'Min', 'Disabled'),
    policies: fc.array(fc.record({ type: fc.constant('Pods'), value: percent, periodSeconds: percent }), {
      minLength: 1,
    }),
    tolerance: fc.constantFrom('50m', '1'),
  },
  { requiredKeys: ['stabilizationWindowSeconds'] },
)
const behavior = fc.record({ scaleUp: rules, scaleDown: rules }, { requiredKeys: ['scaleUp'] })
const cpu = utilization.map((target) => ({ type: 'Resource', resource: { name: 'cpu', target } }))

function v2(spec: object, metadata: object = {}): KubeObject {
  const typed = { kind: 'HorizontalPodAutoscaler', apiVersion: 'autoscaling/v2', metadata: { name: 'h', ...metadata } }
  return { ...typed, spec: { scaleTargetRef, maxReplicas: 3, ...spec } }
}

describe('conversion', () => {
  it('carries every autoscaler through v1 unharmed', () => {
    const specs = fc.record({
      others: fc.array(otherMetric),
      last: cpu,
      behavior: fc.option(behavior, { nil: undefined }),
    })
    fc.assert(
      fc.property(specs, ({ others, last, behavior: moves }) => {
        // v1 does not remember where the CPU stood: it comes back at the end.
        const object = v2({ metrics: [...others, last], ...(moves === undefined ? {} : { behavior: moves }) })
        const normal = fromStored(toStored(fromStored(object, 'autoscaling/v1'), 'autoscaling/v2'), 'autoscaling/v1')
        expect(printJson(normal)).toBe(printJson(fromStored(object, 'autoscaling/v1')))
        expect(toStored(normal, 'autoscaling/v2')['spec']).toEqual(object['spec'])
      }),
    )
  })

  it('leaves what it was given as it was', () => {
    const object = v2({ metrics: [] }, { annotations: { a: 'b' } })
    const before = structuredClone(object)
    fromStored(object, 'autoscaling/v1')
    expect(object).toEqual(before)
  })

  it('forgets annotations that only look like carried fields', () => {
    const annotations = { 'autoscaling.alpha.kubernetes.io/behavior': '{}', kept: '1' }
    const { metadata } = fromStored(v2({ metrics: [] }, { annotations }), 'autoscaling/v1')
    expect(metadata?.annotations).toEqual({ kept: '1' })
  })

  it.each(['{', '[]', '{}', 'null', '[1]', '[{"type":1}]'])('reads %o in an annotation as nothing', (text) => {
    const names = ['metrics', 'current-metrics', 'conditions', 'behavior']
    const annotations = Object.fromEntries(names.map((name) => [`autoscaling.alpha.kubernetes.io/${name}`, text]))
    const object = {
      ...v2({ targetCPUUtilizationPercentage: 7 }, { annotations }),
      apiVersion: 'autoscaling/v1',
    }
    const { spec } = toStored(object, 'autoscaling/v2')
    expect(spec).toEqual({
      scaleTargetRef,
      maxReplicas: 3,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 7 } } },
      ],
    })
  })

  it('renames the fields of events and brings them back', () => {
    const event = {
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      metadata: { name: 'e', namespace: 'ns' },
      note: 'N',
      regarding: { kind: 'Pod', name: 'p' },
      deprecatedCount: 2,
      reportingController: 'c',
    }
    const core = toStored(event, 'v1')
    expect(core).toMatchObject({ message: 'N', involvedObject: { name: 'p' }, count: 2, reportingComponent: 'c' })
    expect(fromStored(core, 'events.k8s.io/v1')).toMatchObject(event)
  })

  it('does not invent kinds', () => {
    const object = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p' } }
    expect(() => toStored(object, 'apps/v1')).toThrow('Pod cannot be converted to apps/v1: there is no such kind')
  })
})
