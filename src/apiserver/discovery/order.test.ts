import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareVersions, groupInOrder } from './order.ts'

const stable = fc.integer({ min: 1, max: 12 }).map((major) => `v${major}`)
const staged = fc
  .tuple(stable, fc.constantFrom('alpha', 'beta'), fc.integer({ min: 1, max: 12 }))
  .map((parts) => parts.join(''))
const version = fc.oneof(stable, staged, fc.constantFrom('foo', 'v1gamma', 'v01', 'x1'))

function ranked(group: string, name: string, groupPriority = 1000, versionPriority = 100) {
  return { group, version: name, priority: { group: groupPriority, version: versionPriority } }
}

describe('versions', () => {
  it('stand in the order that clients expect', () => {
    const shuffled = ['foo1', 'v3beta1', 'v12alpha1', 'v1', 'v11beta2', 'v10', 'v11alpha2', 'v10beta3', 'v2', 'foo10']
    const expected = ['v10', 'v2', 'v1', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10']
    expect(shuffled.sort(compareVersions)).toEqual(expected)
  })

  it('have one total order', () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b))).toBe(0 - Math.sign(compareVersions(b, a)))
        expect(compareVersions(a, b) === 0).toBe(a === b)
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0)
          expect(compareVersions(a, c)).toBeLessThanOrEqual(0)
      }),
    )
  })
})

describe('groups', () => {
  it('stand by their highest priority', () => {
    const order = groupInOrder(
      [ranked('low', 'v1', 10), ranked('mixed', 'v2', 5), ranked('mixed', 'v1', 20)],
      'group-name',
    )
    expect(order.map(({ group }) => group)).toEqual(['mixed', 'low'])
  })

  it('of equal priority stand by name, in legacy documents by that of their first APIService', () => {
    const tied = [ranked('b.example', 'v1'), ranked('a.example', 'v2')]
    expect(groupInOrder(tied, 'group-name').map(({ group }) => group)).toEqual(['a.example', 'b.example'])
    expect(groupInOrder(tied, 'api-service-name').map(({ group }) => group)).toEqual(['b.example', 'a.example'])
  })

  it('put the version of the highest priority first', () => {
    const versions = [ranked('g', 'v1', 10, 15), ranked('g', 'v1beta1', 10, 30), ranked('g', 'v2', 10, 15)]
    const [group] = groupInOrder(versions, 'group-name')
    expect(group?.versions.map((one) => one.version)).toEqual(['v1beta1', 'v2', 'v1'])
  })
})
