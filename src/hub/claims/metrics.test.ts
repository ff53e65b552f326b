import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { Claim } from './claim.ts'
import { auditClaims } from './metrics.ts'

/** Claims as the watch of a hub tells of them. */
function watched() {
  const lines: Record<string, unknown>[] = []
  let tell: (node: string, claim: Claim | undefined) => void = () => {}
  const claims = {
    isLive: false,
    onChange: (listener: typeof tell) => {
      tell = listener
      return () => {}
    },
  }
  auditClaims({ name: 'north', claims }, pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }))
  return {
    claims,
    lines,
    tell: (claim: Claim) => tell(claim.node, claim),
    remove: (node: string) => tell(node, undefined),
  }
}

const released = (releasedAtMs: number): Claim => ({ state: 'released', node: 'edge-1', releasedAtMs })
const held: Claim = { state: 'held', node: 'edge-1', current: 'A', heldSinceMs: 1, tokenId: 't1' }
const { tokenId: _token, ...claimed } = held

describe('the audit of claims', () => {
  it('has a line for each name that is taken back while the hub looks on, and none for old marks', () => {
    const { claims, lines, tell } = watched()
    tell(released(1))
    expect(lines).toEqual([])
    claims.isLive = true
    tell(released(1))
    expect(lines).toEqual([])
    tell(held)
    tell(released(2))
    tell(released(2))
    tell(released(3))
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatchObject({ event: 'node-forgotten', node: 'edge-1', cluster: 'north' })
  })

  it('has a line for each name that a certificate claims, and none for a token or a rotation', () => {
    const { claims, lines, tell, remove } = watched()
    claims.isLive = true
    tell(held)
    expect(lines).toEqual([])
    remove('edge-1')
    tell(claimed)
    tell({ ...claimed, next: 'B' })
    tell({ ...claimed, current: 'B' })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ event: 'node-claimed', node: 'edge-1', key: 'A', cluster: 'north' })
  })
})
