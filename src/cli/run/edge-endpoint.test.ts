import { describe, expect, it } from 'vitest'
import { chooseEdge, endpointOf, endpointUrl, readEdges } from './edge-endpoint.ts'

const endpoint = { addresses: ['127.0.0.1', '169.254.30.10'], port: 10_550 }
const one = { role: 'edge', version: '1', pid: 7, edge: { node: 'edge-1', hubs: [], endpoint } }
const many = { role: 'up', edges: [{ node: 'edge-1', endpoint }, { node: 'edge-2' }] }

describe('the edge to run on', () => {
  it('is the only one, or the one that was named', () => {
    expect(chooseEdge(one, undefined, 'd').node).toBe('edge-1')
    expect(chooseEdge(many, 'edge-2', 'd').node).toBe('edge-2')
  })

  it.each([
    ['d has several edges; choose one with --node: edge-1, edge-2', many, undefined],
    ['d has no edge edge-3; it has edge-1, edge-2', many, 'edge-3'],
    ['runs no edge', { role: 'hub', hub: {} }, undefined],
    ['another version of causeway', { edge: { node: 7 } }, undefined],
    ['another version of causeway', undefined, 'x'],
  ])('%s', (message, status, node) => {
    expect(() => chooseEdge(status, node, 'd')).toThrow(message)
  })

  it('is read from what processes really tell', () => {
    expect(readEdges(one)).toEqual([{ node: 'edge-1', endpoint }])
    expect(readEdges({ role: 'up', edges: [] })).toEqual([])
    expect(readEdges('text')).toBeUndefined()
  })
})

describe('the endpoint', () => {
  it.each([
    [['127.0.0.1', '169.254.30.10', 'fd00::9'], '169.254.30.10'],
    [['::1', 'fd00::9'], 'fd00::9'],
    [['127.0.0.1'], '127.0.0.1'],
    [['0.0.0.0'], '127.0.0.1'],
    [['::'], '::1'],
  ])('of %j is %s', (addresses, host) => {
    expect(endpointOf({ node: 'x', endpoint: { addresses, port: 1 } })).toEqual({ host, port: 1 })
  })

  it('may be missing, with the reason', () => {
    expect(() => endpointOf({ node: 'edge-1' })).toThrow('edge-1 serves no endpoint at the moment')
    expect(() => endpointOf({ node: 'edge-1', endpoint: { addresses: [], port: 1 } })).toThrow('serves no endpoint')
  })

  it('has a URL', () => {
    expect(endpointUrl({ host: '169.254.30.10', port: 10_550 })).toBe('https://169.254.30.10:10550')
    expect(endpointUrl({ host: 'fd00::9', port: 443 })).toBe('https://[fd00::9]:443')
  })
})
