import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { strategyOf } from './registry.ts'
import type { WriteContext } from './strategy.ts'

const context = (subresource = ''): WriteContext => ({
  nowMs: 0,
  user: { name: 'u', uid: '', groups: [], extra: {} },
  subresource,
})

function pod(spec: object, status: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n' }, spec, status }
}

describe('grace of deleted pods', () => {
  const strategy = strategyOf('v1', 'Pod')

  it.each([
    ['what the pod asks for', { nodeName: 'n', terminationGracePeriodSeconds: 30 }, {}, 30],
    ['nothing where it runs nowhere', { terminationGracePeriodSeconds: 30 }, {}, 0],
    ['nothing where it has ended', { nodeName: 'n', terminationGracePeriodSeconds: 30 }, { phase: 'Succeeded' }, 0],
    ['a second where less than none is asked for', { nodeName: 'n', terminationGracePeriodSeconds: -1 }, {}, 1],
  ])('is %s', (_what, spec, status, seconds) => {
    expect(strategy.defaultGracePeriodSeconds?.(pod(spec, status))).toBe(seconds)
  })

  it('is unknown to other kinds', () => {
    expect(strategyOf('v1', 'ConfigMap')?.defaultGracePeriodSeconds).toBeUndefined()
  })
})

describe('the life of a status', () => {
  it('belongs to its own subresource, for kinds without rules too', () => {
    const strategy = strategyOf('networking.k8s.io/v1', 'ServiceCIDR')
    const stored: KubeObject = {
      metadata: { name: 'x', labels: { a: 'b' } },
      spec: { cidrs: ['a'] },
      status: { old: true },
    }
    const given: KubeObject = { metadata: { name: 'x', labels: {} }, spec: { cidrs: ['b'] }, status: { old: false } }
    const [asObject, asStatus] = [structuredClone(given), structuredClone(given)]
    strategy.prepareForUpdate?.(asObject, stored, context())
    strategy.prepareForStatusUpdate?.(asStatus, stored, context('status'))
    expect(asObject).toEqual({ ...given, status: stored['status'] })
    expect(asStatus).toEqual({ ...given, metadata: stored.metadata, spec: stored['spec'] })
  })

  it('is not taken from a client that creates', () => {
    const created: KubeObject = { metadata: { name: 'x' }, status: { set: true } }
    strategyOf('networking.k8s.io/v1', 'ServiceCIDR').prepareForCreate?.(created, context())
    expect(created).toEqual({ metadata: { name: 'x' } })
  })
})

describe('generations', () => {
  it('count changes of what a controller follows', () => {
    const { generation } = strategyOf('apps/v1', 'Deployment')
    const stored: KubeObject = { metadata: { name: 'd' }, spec: { replicas: 1 } }
    expect(generation?.initial).toBe(1)
    expect(generation?.hasChanged({ ...stored, status: {} }, stored)).toBe(false)
    expect(generation?.hasChanged({ ...stored, spec: { replicas: 2 } }, stored)).toBe(true)
    expect(generation?.hasChanged({ ...stored, metadata: { name: 'd', annotations: { a: 'b' } } }, stored)).toBe(true)
  })

  it('are unknown to kinds without a controller', () => {
    expect(strategyOf('v1', 'ConfigMap').generation).toBeUndefined()
  })
})

it('asks for a namespace where the catalogue says so', () => {
  const errors = (apiVersion: string, kind: string): unknown =>
    strategyOf(apiVersion, kind)
      .validate?.({ metadata: { name: 'x' } })
      .map(({ field }) => field)
  expect(errors('v1', 'ConfigMap')).toEqual(['metadata.namespace'])
  expect(errors('v1', 'Node')).toEqual([])
})
