import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { SharedJoinTokens } from './join-tokens.ts'
import type { TokenKeys } from './token-keys.ts'
import type { TokenRecord, TokenRecords } from './token-records.ts'

const record: TokenRecord = { id: 'aa', createdMs: 0, expiresMs: 1, used: [] }
const claims = { id: 'aa', audience: 'c', issuedAtMs: 0, expiresAtMs: 1, kubernetesCaSha256: '', apiServerName: '' }

/** The uses that were written down. */
function tokensWith(present: TokenRecord | undefined) {
  const written: TokenRecord[] = []
  const change: TokenRecords['change'] = async (_id, decide) => {
    const after = present === undefined ? undefined : decide(present)
    if (after !== undefined && after !== present) written.push(after)
    return after
  }
  const options = { clock: new ManualClock(), keys: {} as TokenKeys, records: { change } as TokenRecords }
  return { tokens: new SharedJoinTokens({ ...options, audience: () => 'c' }), written }
}

describe('the use of a token without a limit', () => {
  it('is refused once the token is revoked or its record gone, whatever was verified before', async () => {
    for (const present of [{ ...record, revokedMs: 5 }, undefined]) {
      const used = tokensWith(present).tokens.use(claims, 'edge-1', 'key')
      await expect(used).rejects.toMatchObject({ code: 'token-revoked' })
    }
  })

  it('writes nothing down', async () => {
    const { tokens, written } = tokensWith(record)
    await tokens.use(claims, 'edge-1', 'key')
    expect(written).toEqual([])
  })
})
