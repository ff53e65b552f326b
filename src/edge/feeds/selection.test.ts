import { describe, expect, it } from 'vitest'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { type CollectionScope, scopeOf } from './collection-scope.ts'
import { covers } from './selection.ts'

function scope(target: string): CollectionScope {
  return scopeOf(parseRequestInfo({ method: 'GET', path: target }) as ResourceRequest)
}

const all = '/api/v1/pods'
const one = '/api/v1/namespaces/default/pods'
const ofNode = 'fieldSelector=spec.nodeName%3Dedge-1'

describe('what a feed covers', () => {
  it.each([
    [all, one, true],
    [one, all, false],
    [`${all}?${ofNode}`, `${one}?${ofNode}`, true],
    [`${all}?${ofNode}`, `${one}?${ofNode}&labelSelector=app%3Dweb`, true],
    [`${all}?${ofNode}`, `${one}?fieldSelector=metadata.name%3Da,spec.nodeName%3D%3Dedge-1`, true],
    [`${all}?${ofNode}`, one, false],
    [`${all}?${ofNode}`, `${one}?fieldSelector=spec.nodeName%3Dedge-2`, false],
    [`${all}?labelSelector=a,b%3Dc`, `${all}?labelSelector=b%20in%20(c),a,d`, true],
    [`${all}?labelSelector=a%3Db`, `${all}?fieldSelector=a%3Db`, false],
    [`${all}?labelSelector=a`, `${all}?labelSelector=a%3Db`, false],
    [`${one}?${ofNode}`, `${all}?${ofNode}`, false],
    ['/api/v1/services', all, false],
  ])('%s, of %s: %s', (feed, wanted, expected) => {
    expect(covers(scope(feed), scope(wanted))).toBe(expected)
  })
})

describe('what is asked of every feed', () => {
  it('was found out once, when the feed was made', () => {
    const known = scope(`${all}?labelSelector=a,b%3Dc&${ofNode}`)
    const unread = { ...known, labels: unreadable, fields: unreadable } as unknown as CollectionScope
    expect(covers(unread, scope(`${one}?labelSelector=b%3Dc,a,d&${ofNode}`))).toBe(true)
    expect(covers(unread, scope(`${one}?labelSelector=a,d&${ofNode}`))).toBe(false)
  })
})

const unreadable = new Proxy(
  {},
  {
    get: () => {
      throw new Error('read again')
    },
  },
)
