import { describe, expect, it } from 'vitest'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { type Access, Verdicts } from './verdicts.ts'

function access(target: string): Access {
  return parseRequestInfo({ method: 'GET', path: target }) as ResourceRequest
}

/** What is known of a reader that may do this. */
function knowing(target: string): (asked: string) => string | undefined {
  const verdicts = new Verdicts()
  verdicts.learn('jane', access(target), 'allowed')
  return (asked) => verdicts.find('jane', access(asked))
}

const maps = '/api/v1/namespaces/default/configmaps'
const ownPods = 'fieldSelector=spec.nodeName%3Dedge-1'

describe('verdicts', () => {
  it('who may watch a collection may list it and get what is in it, and not the other way round', () => {
    const watches = knowing(`${maps}?watch=true`)
    expect([watches(maps), watches(`${maps}/one`)]).toEqual(['allowed', 'allowed'])
    const lists = knowing(maps)
    expect([lists(`${maps}/one`), lists(`${maps}?watch=true`)]).toEqual(['allowed', undefined])
    const gets = knowing(`${maps}/one`)
    expect([gets(`${maps}/two`), gets(maps)]).toEqual([undefined, undefined])
  })

  it('who may watch what a selector leaves may list that, in all namespaces and in one, and no more', () => {
    const find = knowing(`/api/v1/pods?watch=true&${ownPods}`)
    expect(find(`/api/v1/pods?${ownPods}`)).toBe('allowed')
    expect(find(`/api/v1/namespaces/default/pods?${ownPods}`)).toBe('allowed')
    expect(find('/api/v1/pods')).toBeUndefined()
    expect(find('/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName%3Dedge-2')).toBeUndefined()
    expect(find('/api/v1/namespaces/default/pods/one')).toBeUndefined()
  })

  it('who may watch the collection of one name may get that object, and no other', () => {
    const find = knowing(`${maps}?watch=true&fieldSelector=metadata.name%3Done`)
    expect(find(`${maps}/one`)).toBe('allowed')
    expect(find(`${maps}/two`)).toBeUndefined()
    expect(find(maps)).toBeUndefined()
  })

  it('a permission in one namespace says nothing about others, and none about subresources', () => {
    const find = knowing(`${maps}?watch=true`)
    expect(find('/api/v1/configmaps')).toBeUndefined()
    expect(find('/api/v1/namespaces/other/configmaps/one')).toBeUndefined()
    expect(knowing('/api/v1/pods')('/api/v1/namespaces/default/pods/one/log')).toBeUndefined()
  })

  it('what was denied stays denied, whatever else is allowed', () => {
    const verdicts = new Verdicts()
    verdicts.learn('jane', access(`${maps}?watch=true`), 'allowed')
    verdicts.learn('jane', access(maps), 'denied')
    expect(verdicts.find('jane', access(maps))).toBe('denied')
    expect(verdicts.find('joe', access(`${maps}?watch=true`))).toBeUndefined()
  })
})
