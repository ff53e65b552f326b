import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { HubError, networkError } from '../hub/hub-error.ts'
import { CHECK_IN_RETRY_MAX_MS, CheckIn } from './check-in.ts'
import { CHECK_IN_INTERVAL_MS } from './rotation-core.ts'

const logger = pino({ level: 'silent' })
const refused = new HubError('refusal', 'certificate-revoked', 'forgotten', { retryable: false })

async function checkingIn(outcomes: (Error | undefined)[]) {
  const clock = new ManualClock(0)
  const askedAtMs: number[] = []
  const present = async (): Promise<void> => {
    askedAtMs.push(clock.nowMs())
    const outcome = outcomes.shift()
    if (outcome !== undefined) throw outcome
  }
  const checkIn = new CheckIn({ present, clock, random: () => 0.5, logger })
  const running = await checkIn.start()
  return { clock, checkIn, askedAtMs, stop: () => running.stop(AbortSignal.abort()) }
}

describe('CheckIn', () => {
  it('asks at once, and again after the interval', async () => {
    const { clock, askedAtMs, stop } = await checkingIn([])
    await clock.advance(CHECK_IN_INTERVAL_MS)
    expect(askedAtMs).toEqual([0, CHECK_IN_INTERVAL_MS])
    await stop()
  })

  it('tries a hub that is away ever more slowly, and is healthy meanwhile', async () => {
    const away = networkError('refused', 'nobody there')
    const { clock, checkIn, askedAtMs, stop } = await checkingIn([away, away, away])
    await clock.advance(500)
    await clock.advance(1_000)
    expect(askedAtMs).toEqual([0, 500, 1_500])
    expect(checkIn.health().ok).toBe(true)
    await stop()
  })

  it('shows a refusal in its health until the hub accepts again', async () => {
    const { clock, checkIn, stop } = await checkingIn([refused, undefined])
    await clock.advance(0)
    expect(checkIn.health()).toEqual({ ok: false, reason: 'the hub refuses the certificate: forgotten' })
    await clock.advance(CHECK_IN_RETRY_MAX_MS)
    expect(checkIn.health().ok).toBe(true)
    await stop()
  })
})
