import { beforeEach, describe, expect, it } from 'vitest'
import { type Access, type Verdict, Verdicts } from './verdicts.ts'

const whole: Access = {
  verb: 'list',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: '',
  labelSelector: '',
  fieldSelector: '',
}
const one: Access = { ...whole, verb: 'get', name: 'a' }

describe('verdicts', () => {
  let verdicts: Verdicts
  beforeEach(() => {
    verdicts = new Verdicts()
  })

  it('are known for exactly who asked and what was asked for', () => {
    verdicts.learn('jane', one, 'allowed')
    expect(verdicts.find('jane', one)).toBe('allowed')
    expect(verdicts.find('joe', one)).toBeUndefined()
    for (const other of [{ name: 'b' }, { verb: 'watch' }, { resource: 'secrets' }, { namespace: 'other' }] as const)
      expect(verdicts.find('jane', { ...one, ...other })).toBeUndefined()
  })

  it.each<[string, Access, Access, Verdict | undefined]>([
    ['a list lets its members be read', whole, one, 'allowed'],
    ['a list in all namespaces lets those of one be listed', { ...whole, namespace: '' }, whole, 'allowed'],
    ['a list in all namespaces lets each object be read', { ...whole, namespace: '' }, one, 'allowed'],
    ['a whole list lets a part be listed', whole, { ...whole, labelSelector: 'a=b' }, 'allowed'],
    ['a part lets not the whole be listed', { ...whole, labelSelector: 'a=b' }, whole, undefined],
    ['a part lets not its members be read', { ...whole, fieldSelector: 'spec.nodeName=n' }, one, undefined],
    ['a list of one namespace lets not all be listed', whole, { ...whole, namespace: '' }, undefined],
    ['a list lets nothing be watched', whole, { ...whole, verb: 'watch' }, undefined],
    ['a watch lets the same be listed, which it shows anyway', { ...whole, verb: 'watch' }, whole, 'allowed'],
    ['one object lets not the whole be listed', one, whole, undefined],
    ['a list lets no subresource be read', whole, { ...one, subresource: 'log' }, undefined],
    ['another group is another resource', whole, { ...one, apiGroup: 'metrics.k8s.io' }, undefined],
  ])('%s', (_what, known, asked, verdict) => {
    verdicts.learn('jane', known, 'allowed')
    expect(verdicts.find('jane', asked)).toBe(verdict)
  })

  it('conclude nothing from a denial, and one that was given for this very question stands', () => {
    verdicts.learn('jane', whole, 'denied')
    expect(verdicts.find('jane', one)).toBeUndefined()
    verdicts.learn('jane', whole, 'allowed')
    verdicts.learn('jane', one, 'denied')
    expect(verdicts.find('jane', one)).toBe('denied')
  })

  it('tell of what is new and of what they forget, the oldest first', () => {
    const told: string[] = []
    const few = new Verdicts({ maxVerdicts: 2, changed: (_key, verdict) => told.push(verdict ?? 'forgotten') })
    few.learn('jane', whole, 'allowed')
    few.learn('jane', whole, 'allowed')
    few.learn('joe', whole, 'denied')
    few.learn('jane', whole, 'allowed')
    few.learn('jim', whole, 'allowed')
    expect(told).toEqual(['allowed', 'denied', 'allowed', 'forgotten'])
    expect(few.find('joe', whole)).toBeUndefined()
    expect(few.find('jane', whole)).toBe('allowed')
  })
})
