import { describe, expect, it } from 'vitest'
import { type ResourceRequest, readRequest } from '../../kube/request-info.ts'
import { type Reading, readingOf } from './reading.ts'

function reading(path: string, caller = 'node', component = 'kubelet'): Reading {
  const read = readRequest({ method: 'GET', path })
  const info = read.info as ResourceRequest
  const request = { ...read, caller, isNode: false, userAgent: '', identify: () => Promise.resolve(undefined) }
  return readingOf(request, info, component)
}

describe('a request', () => {
  it.each([
    ['services', 'whole'],
    ['services?limit=500', 'whole'],
    ['services?limit=500&resourceVersion=7', 'whole'],
    ['services?limit=500&continue=', 'whole'],
    ['services?limit=500&continue=abc', 'page'],
    ['services?watch=1', 'whole'],
    ['services?watch=1&resourceVersion=', 'whole'],
    ['services?watch=1&resourceVersion=0', 'whole'],
    ['services?watch=1&resourceVersion=7', 'resumed'],
    ['services?watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=400', 'resumed'],
    ['services?watch=1&resourceVersion=7&sendInitialEvents=false', 'resumed'],
    ['services?watch=1&resourceVersion=7&sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 'whole'],
    ['services?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 'whole'],
    ['services?watch=1&sendInitialEvents=false', 'apart'],
    ['watch/services', 'whole'],
    ['watch/services?resourceVersion=7', 'resumed'],
    ['watch/services?resourceVersion=7&labelSelector=%FF', 'apart'],
    ['namespaces/default/services/kubernetes', 'apart'],
  ])('for %s is %s', (path, kind) => {
    expect(reading(`/api/v1/${path}`).kind).toBe(kind)
  })
})

describe('who reads what', () => {
  const { key } = reading('/api/v1/services?labelSelector=a%3Db&limit=500')

  it('is the same for a list and the watch that follows it', () => {
    expect(reading('/api/v1/services?watch=1&resourceVersion=7&labelSelector=a%3Db').key).toBe(key)
    expect(reading('/api/v1/watch/services?resourceVersion=7&labelSelector=a%3Db').key).toBe(key)
    expect(reading('/api/v1/services?continue=x&labelSelector=a%3Db').key).toBe(key)
    const one = 'fieldSelector=metadata.name%3Dx'
    expect(reading(`/api/v1/namespaces/a/configmaps?watch=1&${one}`).key).toBe(
      reading(`/api/v1/namespaces/a/configmaps?${one}`).key,
    )
  })

  it('differs with each part of it', () => {
    const others = [
      reading('/api/v1/services?labelSelector=a%3Dc'),
      reading('/api/v1/services?fieldSelector=a%3Db'),
      reading('/api/v1/pods?labelSelector=a%3Db'),
      reading('/api/v2/services?labelSelector=a%3Db'),
      reading('/apis/a/v1/services?labelSelector=a%3Db'),
      reading('/api/v1/namespaces/default/services?labelSelector=a%3Db'),
      reading('/api/v1/services?labelSelector=a%3Db', 'another'),
      reading('/api/v1/services?labelSelector=a%3Db', 'node', 'kube-proxy'),
    ]
    expect(new Set([key, ...others.map((other) => other.key)]).size).toBe(1 + others.length)
  })

  it('is short, however long the selectors are', () => {
    expect(reading(`/api/v1/services?labelSelector=${'x'.repeat(60_000)}`).key).toHaveLength(64)
  })
})
