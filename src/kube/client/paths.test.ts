import { describe, expect, it } from 'vitest'
import { leases, namespaces, nodes, pods } from './kinds.ts'
import { queryString, resourcePath } from './paths.ts'

describe('API paths', () => {
  it.each([
    [pods, {}, '/api/v1/pods'],
    [pods, { namespace: 'ns' }, '/api/v1/namespaces/ns/pods'],
    [pods, { namespace: 'ns', name: 'a' }, '/api/v1/namespaces/ns/pods/a'],
    [pods, { namespace: 'ns', name: 'a', subresource: 'proxy/metrics' }, '/api/v1/namespaces/ns/pods/a/proxy/metrics'],
    [namespaces, { name: 'ns', subresource: 'finalize' }, '/api/v1/namespaces/ns/finalize'],
    [nodes, { name: 'system:node:a' }, '/api/v1/nodes/system%3Anode%3Aa'],
    [leases, { namespace: 'ns', name: 'a' }, '/apis/coordination.k8s.io/v1/namespaces/ns/leases/a'],
  ])('builds %#', (resource, parts, path) => {
    expect(resourcePath(resource, parts)).toBe(path)
  })

  it.each([
    [pods, { name: 'a' }, 'a namespace is needed'],
    [nodes, { namespace: 'ns' }, 'nodes is not namespaced'],
    [nodes, { name: '' }, '"" cannot be part of an API path'],
    [nodes, { name: '..' }, '".." cannot be part'],
    [nodes, { name: 'a/../b' }, 'cannot be part'],
    [nodes, { name: 'a%2fb' }, 'cannot be part'],
  ])('refuses %#', (resource, parts, message) => {
    expect(() => resourcePath(resource, parts)).toThrow(message)
  })

  it('writes queries without what is undefined', () => {
    expect(queryString({})).toBe('')
    expect(queryString({ a: undefined, watch: true, limit: 3, labelSelector: 'a in (b,c)' })).toBe(
      '?watch=true&limit=3&labelSelector=a%20in%20(b%2Cc)',
    )
  })
})
