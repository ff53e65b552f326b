import { describe, expect, it } from 'vitest'
import { RequestHeaders } from '../../http/server/exchange.ts'
import { readRequest } from '../../kube/request-info.ts'
import { MAX_KEPT_REQUIREMENTS, MAX_KEPT_SELECTORS_LENGTH } from '../feeds/collection-scope.ts'
import { readingOf } from './reading.ts'

function isRead(path: string): boolean {
  const { info, query } = readRequest({ method: 'GET', path })
  return readingOf({ method: 'GET', info, query, headers: new RequestHeaders([]) }) !== undefined
}

const pods = '/api/v1/namespaces/default/pods'
const labels = (length: number): string => `labelSelector=a%3D${'b'.repeat(60)},${'c'.repeat(length - 63)}`

describe('what of a request is for the replica', () => {
  it('are selectors of a length that can be kept, and none beyond', () => {
    const many = (length: number): string => `in%20(${Array.from({ length }, (_, index) => index).join(',')})`
    expect(isRead(`${pods}?labelSelector=app%20${many(400)}`)).toBe(true)
    expect(isRead(`${pods}?labelSelector=app%20${many(4_000)}`)).toBe(false)
    expect(isRead(`${pods}?watch=true&labelSelector=app%20${many(4_000)}`)).toBe(false)
    const term = 'status.phase!%3D'
    expect(isRead(`${pods}?fieldSelector=${term}${'x'.repeat(MAX_KEPT_SELECTORS_LENGTH - 14)}`)).toBe(true)
    expect(isRead(`${pods}?fieldSelector=${term}${'x'.repeat(MAX_KEPT_SELECTORS_LENGTH - 13)}`)).toBe(false)
    // Both count together.
    expect(isRead(`${pods}?fieldSelector=${term}${'x'.repeat(MAX_KEPT_SELECTORS_LENGTH - 100)}&${labels(100)}`)).toBe(
      false,
    )
  })

  it('are as many requirements as can be looked for in every feed', () => {
    const labelsOf = (length: number): string => Array.from({ length }, (_, index) => `l${index}`).join(',')
    expect(isRead(`${pods}?labelSelector=${labelsOf(MAX_KEPT_REQUIREMENTS)}`)).toBe(true)
    expect(isRead(`${pods}?labelSelector=${labelsOf(MAX_KEPT_REQUIREMENTS + 1)}`)).toBe(false)
  })

  it('are no paths that there are none of', () => {
    expect(isRead('/api/v1/nodes')).toBe(true)
    expect(isRead('/api/v1/namespaces/default')).toBe(true)
    for (const path of ['nodes', 'namespaces', 'nodes/edge-1'])
      expect(isRead(`/api/v1/namespaces/default/${path}`)).toBe(false)
  })

  it('are names of such a length', () => {
    expect(isRead(`${pods}/${'a'.repeat(253)}`)).toBe(true)
    expect(isRead(`${pods}/${'a'.repeat(MAX_KEPT_SELECTORS_LENGTH + 1)}`)).toBe(false)
  })
})
