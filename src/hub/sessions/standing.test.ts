import { describe, expect, it } from 'vitest'
import type { HeldClaim } from '../claims/claim.ts'
import { type SessionProof, standingOf } from './standing.ts'

const claim: HeldClaim = { state: 'held', node: 'a', current: 'k1', heldSinceMs: 1_000, tokenId: 't1' }
const proof: SessionProof = { node: 'a', key: 'k1', claim, notBeforeMs: 5_000, notAfterMs: 90_000 }
const nowMs = 50_000

describe('a session', () => {
  it('is good while its key holds the name, as the current or the next one', () => {
    expect(standingOf(proof, claim, nowMs)).toBe('good')
    expect(standingOf(proof, { ...claim, current: 'k0', next: 'k1' }, nowMs)).toBe('good')
    expect(standingOf(proof, { ...claim, next: 'k2', certificateEndsMs: 1 }, nowMs)).toBe('good')
  })

  it('is good where nobody is known to hold the name', () => {
    expect(standingOf(proof, undefined, nowMs)).toBe('good')
  })

  it('is superseded when the same holder uses its next key', () => {
    expect(standingOf(proof, { ...claim, current: 'k2' }, nowMs)).toBe('superseded')
  })

  it('is contested when another holder has the name', () => {
    expect(standingOf(proof, { ...claim, current: 'k2', heldSinceMs: 2_000 }, nowMs)).toBe('contested')
    expect(standingOf(proof, { ...claim, current: 'k2', tokenId: 't2' }, nowMs)).toBe('contested')
  })

  it('is revoked by a release after its certificate began, and by no earlier one', () => {
    expect(standingOf(proof, { state: 'released', node: 'a', releasedAtMs: 5_000 }, nowMs)).toBe('revoked')
    expect(standingOf(proof, { state: 'released', node: 'a', releasedAtMs: 4_999 }, nowMs)).toBe('good')
  })

  it('ends with its certificate, whoever holds the name', () => {
    expect(standingOf(proof, claim, 90_999)).toBe('good')
    expect(standingOf(proof, claim, 91_000)).toBe('expired')
  })
})
