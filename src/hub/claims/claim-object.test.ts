import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConfigMap } from '../../kube/client/types.ts'
import { ClusterError } from '../shared/cluster-error.ts'
import type { Claim } from './claim.ts'
import { claimObject, claimOf, isSameClaim } from './claim-object.ts'

const key = 'ab'.repeat(32)
const held: Claim = { state: 'held', node: 'edge-1', current: key, heldSinceMs: 1_000 }
const noted = { tokenId: 't1', certificateEndsMs: 2_000, issuer: 'ef'.repeat(32), forgotten: [key, '01'.repeat(32)] }
const full: Claim = { ...held, next: 'cd'.repeat(32), ...noted }
const released: Claim = { state: 'released', node: 'edge-1', releasedAtMs: 3_000 }

describe('a claim as an object', () => {
  it.each([
    ['held', held],
    ['in rotation', full],
    ['released', released],
    ['released by keys', { ...released, forgotten: [key] }],
  ])('is read back: %s', (_what, claim) => {
    const object = claimObject(claim, 'ns')
    expect(claimOf(object)).toEqual(claim)
    expect(object.metadata).toEqual({
      name: 'causeway-claim.edge-1',
      namespace: 'ns',
      labels: { 'causeway.io/part-of': 'causeway', 'causeway.io/claim': '' },
    })
  })

  it('is the same if it says the same', () => {
    expect(isSameClaim(full, { ...full })).toBe(true)
    expect(isSameClaim(full, held)).toBe(false)
    expect(isSameClaim(held, released)).toBe(false)
    expect(isSameClaim(held, { ...held, current: 'cd'.repeat(32) })).toBe(false)
  })
})

describe('a damaged claim is an error that names it', () => {
  const object = claimObject(full, 'ns')
  const withData = (data: Record<string, string>): ConfigMap => ({ ...object, data: { ...object.data, ...data } })
  const damages: [string, ConfigMap, RegExp][] = [
    ['nothing in it', { ...object, data: {} }, /no field node/],
    ['no data at all', { metadata: object.metadata ?? {} }, /no field node/],
    ['another node', withData({ node: 'edge-2' }), /about another node, edge-2/],
    ['an unknown state', withData({ state: 'HELD' }), /neither held nor released/],
    ['no state', withData({ state: '' }), /no field state/],
    ['no current key', withData({ current: '' }), /no field current/],
    ['a current key that is none', withData({ current: 'A' }), /current is no key fingerprint/],
    ['a next key that is none', withData({ next: `${key} ` }), /next is no key fingerprint/],
    ['an issuer that is none', withData({ issuer: 'CA' }), /issuer is no key fingerprint/],
    ['forgotten keys that are none', withData({ forgotten: `${key} A` }), /forgotten is no list of key fingerprints/],
    ['a time that is none', withData({ heldSince: 'yesterday' }), /heldSince is no time/],
    ['an end that is none', withData({ certificateEnds: '2026-13-01T00:00:00Z' }), /certificateEnds is no time/],
    ['released at no time', withData({ state: 'released' }), /no field releasedAt/],
    ['released at a number', withData({ state: 'released', releasedAt: '5' }), /releasedAt is no time/],
  ]
  it.each(damages)('%s', (_what, damaged, problem) => {
    const read = () => claimOf(damaged)
    expect(read).toThrow(ClusterError)
    expect(read).toThrow(/ConfigMap ns\/causeway-claim\.edge-1 is damaged/)
    expect(read).toThrow(problem)
  })

  it('or else is a claim, whatever stands in it', () => {
    const field = fc.constantFrom('node', 'state', 'current', 'next', 'heldSince', 'releasedAt', 'certificateEnds')
    fc.assert(
      fc.property(fc.dictionary(field, fc.string()), (data) => {
        const read = () => claimOf({ ...object, data: { ...object.data, ...data } })
        try {
          expect(read().node).toBe('edge-1')
        } catch (error) {
          expect(error).toBeInstanceOf(ClusterError)
        }
      }),
    )
  })
})
