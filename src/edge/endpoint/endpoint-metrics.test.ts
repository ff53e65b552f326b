import { describe, expect, it } from 'vitest'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { groupLabel, verbLabel } from './endpoint-metrics.ts'

describe('labels', () => {
  it.each([
    ['GET', '/api/v1/pods', 'list', 'core'],
    ['GET', '/api/v1/pods?watch=1', 'watch', 'core'],
    ['POST', '/apis/apps/v1/namespaces/n/deployments', 'create', 'apps'],
    ['GET', '/apis/metrics.k8s.io/v1beta1/nodes', 'list', 'metrics.k8s.io'],
    ['GET', '/apis/x-1.example/v1/things', 'list', 'other'],
    ['GET', '/version', 'get', 'none'],
    ['BREW', '/version', 'other', 'none'],
    ['BREW', '/api/v1/pods', 'other', 'core'],
  ])('of %s %s are few and known', (method, path, verb, group) => {
    const info = parseRequestInfo({ method, path })
    expect([verbLabel(info), groupLabel(info)]).toEqual([verb, group])
  })

  it('of what cannot be read', () => expect([verbLabel(undefined), groupLabel(undefined)]).toEqual(['other', 'none']))
})
