import { describe, expect, it } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

function filled(...keys: string[]): BoundedMap<string, number> {
  const map = new BoundedMap<string, number>(3)
  for (const [index, key] of keys.entries()) map.set(key, index)
  return map
}

function held(map: BoundedMap<string, number>): string {
  return ['a', 'b', 'c', 'd', 'e'].filter((key) => map.has(key)).join('')
}

describe('a bounded map', () => {
  it('forgets the entry that was set longest ago', () => {
    const map = filled('a', 'b', 'c', 'd')
    expect([held(map), map.size, map.get('a'), map.get('d')]).toEqual(['bcd', 3, undefined, 3])
  })

  it('keeps what was set again or used, and not what was only read', () => {
    const map = filled('a', 'b', 'c')
    map.set('a', 10)
    expect(map.use('b')).toBe(1)
    expect(map.get('c')).toBe(2)
    map.set('d', 3)
    map.set('e', 4)
    expect(held(map)).toBe('bde')
  })

  it('knows nothing of what was deleted or never there', () => {
    const map = filled('a', 'b', 'c')
    expect([map.delete('b'), map.delete('b'), map.use('b'), map.size]).toEqual([true, false, undefined, 2])
    map.set('d', 3)
    expect(held(map)).toBe('acd')
  })

  it('tells of what had to make room, once it is gone', () => {
    const told: unknown[] = []
    const map: BoundedMap<string, number> = new BoundedMap(1, (key, value) => told.push([key, value, map.has(key)]))
    map.set('a', 1)
    map.set('a', 2)
    map.set('b', 3)
    map.delete('b')
    expect(told).toEqual([['a', 2, false]])
  })
})
