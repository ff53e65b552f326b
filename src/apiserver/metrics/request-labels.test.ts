import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readRequest } from '../../kube/request-info.ts'
import { type RequestLabels, requestLabels } from './request-labels.ts'

function labels(method: string, path: string): RequestLabels {
  const { info, query } = readRequest({ method, path })
  return requestLabels(info, query)
}

const pods = { group: '', version: 'v1', resource: 'pods', subresource: '', dry_run: '' } as const

describe('the labels of a request', () => {
  it.each<[string, string, Partial<RequestLabels>]>([
    ['GET', '/api/v1/namespaces/n/pods/x', { ...pods, verb: 'GET', scope: 'resource' }],
    ['GET', '/api/v1/namespaces/n/pods', { ...pods, verb: 'LIST', scope: 'namespace' }],
    ['GET', '/api/v1/pods?watch=1', { ...pods, verb: 'WATCH', scope: 'cluster' }],
    ['POST', '/api/v1/namespaces/n/pods?dryRun=All', { ...pods, verb: 'POST', dry_run: 'All' }],
    ['PUT', '/api/v1/namespaces/n/pods/x/status', { ...pods, verb: 'PUT', subresource: 'status' }],
    ['DELETE', '/api/v1/namespaces/n/pods', { ...pods, verb: 'DELETECOLLECTION', scope: 'namespace' }],
    ['GET', '/api/v1/namespaces/n/pods/x/made-up', { ...pods, subresource: 'other' }],
    ['GET', '/apis/made.up/v1/things/x', { verb: 'GET', group: '', version: '', resource: '', scope: '' }],
    ['GET', '/livez', { verb: 'GET', resource: '', subresource: 'livez' }],
    ['GET', '/openapi/v3/api/v1', { subresource: 'openapi/v3' }],
    ['GET', '/made/up', { verb: 'GET', subresource: '' }],
    ['BREW', '/livez', { verb: 'other' }],
  ])('%s %s', (method, path, expected) => {
    expect(labels(method, path)).toMatchObject(expected)
  })

  it('never repeat what a client made up', () => {
    const madeUp = fc.stringMatching(/^[a-z]{3,8}$/).map((text) => `zz${text}`)
    const parts = fc.array(fc.oneof(madeUp, fc.constantFrom('api', 'apis', 'v1', 'apps', 'pods', 'namespaces')), {
      maxLength: 7,
    })
    fc.assert(
      fc.property(parts, madeUp, (path, method) => {
        const values = Object.values(labels(method, `/${path.join('/')}`))
        expect(values.filter((value) => value.includes('zz'))).toEqual([])
      }),
    )
  })
})
