import { describe, expect, it } from 'vitest'
import { negotiateOutput } from '../../kube/negotiation.ts'
import { BUILT_IN_COLLECTION, BUILT_IN_OBJECT } from '../../kube/negotiation-offers.ts'
import { KeptNegotiations, MAX_KEPT_NEGOTIATIONS } from './kept-negotiations.ts'

describe('KeptNegotiations', () => {
  it('says what negotiation says, the first time and again', () => {
    const kept = new KeptNegotiations()
    const accepts = [undefined, '*/*', 'application/yaml', 'application/json;as=Table;v=v1;g=meta.k8s.io']
    for (const offer of [BUILT_IN_OBJECT, BUILT_IN_COLLECTION]) {
      for (const accept of accepts) {
        for (const pretty of [undefined, '1']) {
          for (const userAgent of [undefined, 'curl/8']) {
            const request = { accept, userAgent, pretty, stream: false }
            for (const _ of [1, 2]) expect(kept.negotiate(request, offer)).toEqual(negotiateOutput(request, offer))
          }
        }
      }
    }
  })

  it('refuses as often as it is asked', () => {
    const kept = new KeptNegotiations()
    const request = { accept: 'text/html', stream: false }
    for (const _ of [1, 2]) expect(() => kept.negotiate(request, BUILT_IN_OBJECT)).toThrow('Not Acceptable')
  })

  it('begins anew when it is full', () => {
    const kept = new KeptNegotiations()
    const ask = (index: number) =>
      kept.negotiate({ accept: '*/*', userAgent: `a/${index}`, stream: false }, BUILT_IN_OBJECT)
    const first = ask(0)
    expect(ask(0)).toBe(first)
    for (let index = 1; index <= MAX_KEPT_NEGOTIATIONS; index++) ask(index)
    expect(ask(0)).not.toBe(first)
  })
})
