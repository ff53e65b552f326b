import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterFailure,
  afterNewCa,
  afterPresented,
  afterRenewed,
  beginRotation,
  CHECK_IN_INTERVAL_MS,
  DOUBTED_CHECK_IN_MS,
  isHubLost,
  MIN_AGE_FOR_NEW_CA_MS,
  NEW_CA_RENEWAL_SPREAD_MS,
  nextAction,
  REJOIN_RECHECK_MS,
  ROTATION_RETRY_FIRST_MS,
  ROTATION_RETRY_MAX_MS,
  type RotationState,
  toBePresentedAgain,
  UNTRUSTED_HUB_TOLERATED_MS,
} from './rotation-core.ts'

const certificate = { fingerprint: 'a', notBeforeMs: 0, notAfterMs: 1_000_000 }
const half = (): number => 0.5
const waiting: RotationState = { phase: 'waiting', rotateAtMs: 300_000, attemptAtMs: 0, failures: 0 }
const dice = fc.double({ min: 0, max: 0.999_999, noNaN: true })

describe('the begin', () => {
  it('draws the moment in 20 to 40 % of the life', () => {
    fc.assert(
      fc.property(dice, (drawn) => {
        const { rotateAtMs } = beginRotation(certificate, undefined, 0, () => drawn)
        expect(rotateAtMs).toBeGreaterThanOrEqual(200_000)
        expect(rotateAtMs).toBeLessThan(400_000)
      }),
    )
  })

  it('keeps a moment that was drawn for this certificate, and no other', () => {
    const remembered = { fingerprint: 'a', atMs: 212_345 }
    expect(beginRotation(certificate, remembered, 0, half).rotateAtMs).toBe(212_345)
    expect(beginRotation({ ...certificate, fingerprint: 'b' }, remembered, 0, half).rotateAtMs).toBe(300_000)
  })

  it('draws anew where a version that renewed late has drawn', () => {
    const remembered = { fingerprint: 'a', atMs: 712_345 }
    expect(beginRotation(certificate, remembered, 0, half).rotateAtMs).toBe(300_000)
    // In the middle of its life already: the same part of what is left, so that a fleet is not renewed at once.
    expect(beginRotation(certificate, remembered, 500_000, half).rotateAtMs).toBe(650_000)
  })

  it('does not believe in a moment after the end', () => {
    const remembered = { fingerprint: 'a', atMs: 2_000_000 }
    expect(beginRotation(certificate, remembered, 0, half).rotateAtMs).toBe(300_000)
  })

  it('shows the certificate first, unless it is due anyhow or there is none', () => {
    expect(nextAction(beginRotation(certificate, undefined, 5, half), 5)).toEqual({ action: 'present', atMs: 5 })
    const late = beginRotation(certificate, { fingerprint: 'a', atMs: 200_000 }, 250_000, half)
    expect(nextAction(late, 250_000)).toEqual({ action: 'renew', atMs: 250_000 })
    expect(nextAction(beginRotation(undefined, undefined, 7, half), 7)).toEqual({ action: 'renew', atMs: 7 })
  })

  it('renews a certificate that ended while the edge was off', () => {
    const state = beginRotation(certificate, undefined, 5_000_000, half)
    expect(nextAction(state, 5_000_000)).toEqual({ action: 'renew', atMs: 5_000_000 })
  })
})

describe('success', () => {
  it('leads from showing to waiting, and from renewing to showing', () => {
    expect(afterPresented(beginRotation(certificate, undefined, 0, half), 10)).toMatchObject({ phase: 'waiting' })
    expect(nextAction(waiting, 10)).toEqual({ action: 'renew', atMs: 300_000 })
    const renewed = afterRenewed({ fingerprint: 'b', notBeforeMs: 800_000, notAfterMs: 1_800_000 }, 800_000, half)
    expect(renewed).toEqual({ phase: 'presenting', rotateAtMs: 1_100_000, attemptAtMs: 800_000, failures: 0 })
  })

  it('never leads to a circle, however short and dated back the new certificate is', () => {
    fc.assert(
      fc.property(
        dice,
        fc.integer({ min: 10_000, max: 1e9 }),
        fc.integer({ min: 0, max: 300_000 }),
        (drawn, life, back) => {
          const nowMs = 5_000_000
          const fresh = { fingerprint: 'b', notBeforeMs: nowMs - back, notAfterMs: nowMs + life }
          const { rotateAtMs } = afterRenewed(fresh, nowMs, () => drawn)
          expect(rotateAtMs).toBeGreaterThan(nowMs)
          expect(rotateAtMs).toBeLessThan(fresh.notAfterMs)
        },
      ),
    )
  })
})

describe('failure', () => {
  const network = { code: 'unreachable', message: 'no route' }

  it('is repeated after a random part of a time that doubles up to a limit', () => {
    let state: RotationState = { ...waiting, phase: 'renewing' }
    const waits: number[] = []
    for (let tries = 0; tries < 12; tries++) {
      state = afterFailure(state, 'renew', network, 1_000_000, () => 1)
      waits.push(state.attemptAtMs - 1_000_000)
    }
    expect(waits.slice(0, 3)).toEqual([ROTATION_RETRY_FIRST_MS, 2_000, 4_000])
    expect(waits.at(-1)).toBe(ROTATION_RETRY_MAX_MS)
    expect(state).toMatchObject({ phase: 'renewing', failures: 12, message: 'no route' })
    fc.assert(
      fc.property(dice, (drawn) => {
        const { attemptAtMs } = afterFailure(state, 'renew', network, 0, () => drawn)
        expect(attemptAtMs).toBeLessThanOrEqual(ROTATION_RETRY_MAX_MS)
      }),
    )
  })

  it('waits as long as the hub asked for', () => {
    const busy = { code: 'overloaded', message: 'later', retryAfterMs: 60_000 }
    expect(afterFailure(waiting, 'renew', busy, 0, half).attemptAtMs).toBe(60_000)
  })

  it('to show a certificate never delays its renewal', () => {
    const state = afterFailure({ ...waiting, phase: 'presenting' }, 'present', network, 299_999, half)
    expect(nextAction(state, 299_999)).toMatchObject({ action: 'present' })
    expect(nextAction(state, 300_500)).toMatchObject({ action: 'renew' })
  })

  it.each(['certificate-revoked', 'certificate-invalid', 'node-mismatch', 'certificate-expired'])(
    'is final when a renewal is refused as %s, but for a look now and then',
    (code) => {
      const state = afterFailure({ ...waiting, phase: 'renewing' }, 'renew', { code, message: 'no' }, 900_000, half)
      expect(state).toMatchObject({ phase: 'rejoin-needed', message: 'no', attemptAtMs: 900_000 + REJOIN_RECHECK_MS })
      expect(nextAction(state, 900_000)).toEqual({ action: 'renew', atMs: 900_000 + REJOIN_RECHECK_MS })
    },
  )

  it('asks by showing, not by renewing, while the certificate is not due', () => {
    const refused = { code: 'certificate-revoked', message: 'no' }
    const state = afterFailure({ ...waiting, phase: 'presenting' }, 'present', refused, 10, half)
    expect(state.phase).toBe('rejoin-needed')
    expect(nextAction(state, 10).action).toBe('present')
    expect(afterPresented(state, 20).phase).toBe('waiting')
  })

  it('renews at once when only the clock of the hub finds the certificate expired', () => {
    const refused = { code: 'certificate-expired', message: 'late' }
    const state = afterFailure({ ...waiting, phase: 'presenting' }, 'present', refused, 10, half)
    expect(nextAction(state, 10)).toEqual({ action: 'renew', atMs: 10 })
  })
})

describe('a certificate that all is well with', () => {
  const dayMs = 86_400_000
  const calm = toBePresentedAgain({ ...waiting, rotateAtMs: 20 * dayMs, attemptAtMs: dayMs }, dayMs, half)

  it('is shown again after about the interval, at a moment drawn', () => {
    expect(nextAction(calm, dayMs)).toEqual({ action: 'present', atMs: dayMs + CHECK_IN_INTERVAL_MS })
    fc.assert(
      fc.property(dice, (drawn) => {
        const { presentAtMs = 0 } = toBePresentedAgain(calm, 0, () => drawn)
        expect(presentAtMs).toBeGreaterThanOrEqual(CHECK_IN_INTERVAL_MS / 2)
        expect(presentAtMs).toBeLessThanOrEqual(CHECK_IN_INTERVAL_MS * 1.5)
      }),
    )
  })

  it('is renewed, not shown, once that is due', () => {
    expect(nextAction(calm, 20 * dayMs)).toEqual({ action: 'renew', atMs: 20 * dayMs })
  })

  it('is shown sooner when somebody doubts it, but never in a circle', () => {
    expect(nextAction(calm, 2 * dayMs, true)).toEqual({ action: 'present', atMs: dayMs + DOUBTED_CHECK_IN_MS })
    const shown = toBePresentedAgain(afterPresented(calm, 2 * dayMs), 2 * dayMs, half)
    expect(nextAction(shown, 2 * dayMs, true).atMs).toBe(2 * dayMs + DOUBTED_CHECK_IN_MS)
  })

  it('is renewed within minutes when the hub signs with another CA', () => {
    fc.assert(
      fc.property(dice, (drawn) => {
        const { rotateAtMs } = afterNewCa(calm, { notBeforeMs: 0, notAfterMs: 30 * dayMs }, dayMs, () => drawn)
        expect(rotateAtMs).toBeGreaterThanOrEqual(dayMs)
        expect(rotateAtMs).toBeLessThanOrEqual(dayMs + NEW_CA_RENEWAL_SPREAD_MS)
      }),
    )
  })

  it('is left alone for a while when it is new, and never renewed later than it would be', () => {
    const fresh = { notBeforeMs: dayMs, notAfterMs: 30 * dayMs }
    expect(afterNewCa(calm, fresh, dayMs, () => 0).rotateAtMs).toBe(dayMs + MIN_AGE_FOR_NEW_CA_MS)
    const due = { ...calm, rotateAtMs: dayMs + 1 }
    expect(afterNewCa(due, fresh, dayMs, half).rotateAtMs).toBe(dayMs + 1)
  })
})

describe('a hub that is none of ours', () => {
  const untrusted = { code: 'hub-untrusted', message: 'a stranger' }
  const lostFor = (state: RotationState, nowMs: number): RotationState =>
    afterFailure(state, 'present', untrusted, nowMs, half)

  it('is taken for lost when it stays so, though the network comes and goes', () => {
    let state = lostFor(waiting, 1_000)
    expect(isHubLost(state, 1_000)).toBe(false)
    state = afterFailure(state, 'present', { code: 'unreachable', message: 'no route' }, 2_000, half)
    state = lostFor(state, 3_000)
    expect(isHubLost(state, 1_000 + UNTRUSTED_HUB_TOLERATED_MS - 1)).toBe(false)
    expect(isHubLost(state, 1_000 + UNTRUSTED_HUB_TOLERATED_MS)).toBe(true)
  })

  it('is forgiven as soon as the hub answers, well or not', () => {
    const state = lostFor(waiting, 0)
    const busy = afterFailure(state, 'present', { code: 'overloaded', message: 'later' }, 1_000, half)
    expect(isHubLost(busy, 10 * UNTRUSTED_HUB_TOLERATED_MS)).toBe(false)
    expect(isHubLost(afterPresented(state, 1_000), 10 * UNTRUSTED_HUB_TOLERATED_MS)).toBe(false)
  })
})
