import { describe, expect, it } from 'vitest'
import { HubError, networkError, tlsError } from '../hub/hub-error.ts'
import { clockHint } from './clock-hint.ts'

const nowMs = Date.UTC(2026, 5, 1)
const refusal = (hubTimeMs: number | undefined): HubError =>
  new HubError('refusal', 'certificate-expired', 'over', { retryable: false, hubTimeMs })

describe('the hint at a clock', () => {
  it('stands beside a hub whose certificate seems over or not yet begun', () => {
    for (const code of ['hub-expired', 'hub-not-yet-valid'] as const)
      expect(clockHint(tlsError(code, 'x'), nowMs)).toContain('the clock here says 2026-06-01T00:00:00.000Z')
  })

  it('stands beside a refusal by a hub whose clock is another', () => {
    expect(clockHint(refusal(nowMs - 3_600_000), nowMs)).toBe(
      '; the clock here says 2026-06-01T00:00:00.000Z, that of the hub 2026-05-31T23:00:00.000Z',
    )
  })

  it('stands nowhere else', () => {
    expect(clockHint(refusal(nowMs - 1_000), nowMs)).toBe('')
    expect(clockHint(refusal(undefined), nowMs)).toBe('')
    expect(clockHint(tlsError('hub-untrusted', 'x'), nowMs)).toBe('')
    expect(clockHint(networkError('timeout', 'x'), nowMs)).toBe('')
    expect(clockHint(new Error('x'), nowMs)).toBe('')
  })
})
