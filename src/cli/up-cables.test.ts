import { describe, expect, it } from 'vitest'
import { Cable } from '../network/cable/cable.ts'
import { ManualClock } from '../runtime/clock.ts'
import { changeCable, describeCables } from './up-cables.ts'

const clock = new ManualClock()
const status = { network: { links: [{ state: 'up' }] } }
const edges = ['edge-1', 'edge-2'].map((name) => ({ name, cable: new Cable(clock), status }))
const asked = (...words: string[]) => changeCable(edges, words)

describe('the cables of up', () => {
  it('are told of and changed by name', () => {
    expect(asked('edge-2', 'cut', '0', '0')).toMatchObject({ node: 'edge-2', cable: 'cut', link: 'up', delayMs: 0 })
    expect(asked('edge-2', 'whole', '5000', '100')).toMatchObject({
      cable: 'cut',
      next: { cable: 'whole', at: '2026-01-01T00:00:05.000Z', delayMs: 100 },
    })
    expect(describeCables(edges).map(({ node, cable }) => [node, cable])).toEqual([
      ['edge-1', 'whole'],
      ['edge-2', 'cut'],
    ])
    asked('edge-2', 'whole', '0', '0')
    expect(clock.pending).toBe(0)
  })

  it('are not changed by what nobody understands', () => {
    expect(() => asked('store-7', 'cut', '0', '0')).toThrow('there is no edge store-7 here; there are edge-1, edge-2')
    const wrongs = [
      [],
      ['edge-1'],
      ['edge-1', 'pulled', '0', '0'],
      ['edge-1', 'cut', '0'],
      ['edge-1', 'cut', '0', '0', '0'],
    ]
    for (const wrong of wrongs) expect(() => asked(...wrong)).toThrow(/^the link cannot be changed so/)
    for (const delay of ['-1', '1e3', '10001', '']) expect(() => asked('edge-1', 'whole', '0', delay)).toThrow()
    expect(describeCables(edges).every(({ cable }) => cable === 'whole')).toBe(true)
  })
})
