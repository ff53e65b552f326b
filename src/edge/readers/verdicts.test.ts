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
    few.learn('jane', one, 'denied')
    few.learn('jane', whole, 'allowed')
    few.learn('jim', whole, 'allowed')
    expect(told).toEqual(['allowed', 'denied', 'allowed', 'forgotten'])
    expect(few.find('jane', { ...one, name: 'b' })).toBe('allowed')
    expect(few.find('jane', one)).toBe('allowed')
    expect(few.size).toBe(2)
  })

  const named = (name: number | string): Access => ({ ...one, name: `${name}` })

  it('of one reader are few, and take nothing from others', () => {
    const shared = new Verdicts({ maxVerdictsOfReader: 10 })
    shared.learn('joe', one, 'allowed')
    for (let name = 0; name < 1_000; name++) shared.learn('jane', named(name), 'denied')
    expect(shared.size).toBe(11)
    expect(shared.find('joe', one)).toBe('allowed')
    expect(shared.find('jane', named(989))).toBeUndefined()
    expect(shared.find('jane', named(990))).toBe('denied')
  })

  it('of the node make way for nobody, however many others there are', () => {
    const few = new Verdicts({ maxVerdicts: 5, spared: 'node' })
    for (const name of ['a', 'b', 'c']) few.learn('node', named(name), 'allowed')
    for (let reader = 0; reader < 100; reader++) few.learn(`reader-${reader}`, one, 'denied')
    expect(few.size).toBe(5)
    for (const name of ['a', 'b', 'c']) expect(few.find('node', named(name))).toBe('allowed')
    expect(few.find('reader-99', one)).toBe('denied')
  })

  it('are the same after a restart, each its reader’s', () => {
    const kept = new Map<string, Verdict>()
    const before = new Verdicts({ changed: (key, verdict) => void (verdict && kept.set(key, verdict)) })
    before.learn('jane', whole, 'allowed')
    before.learn('joe', whole, 'denied')
    const after = new Verdicts({ maxVerdictsOfReader: 1 })
    after.restore(kept)
    expect([after.find('jane', one), after.find('joe', whole)]).toEqual(['allowed', 'denied'])
    after.learn('jane', one, 'denied')
    expect([after.find('jane', whole), after.find('joe', whole)]).toEqual([undefined, 'denied'])
  })
})
