import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { HEALTH_CHECK_TIMEOUT_MS, HEALTHY, HealthChecks, renderHealth, unhealthy } from './health.ts'

describe('HealthChecks', () => {
  it('is alive and ready when nothing is wrong', async () => {
    const checks = new HealthChecks(new ManualClock())
    expect((await checks.report('live')).ok).toBe(true)
    expect((await checks.report('ready')).ok).toBe(true)
  })

  it('keeps liveness and readiness apart: not ready is still alive, not alive is not ready', async () => {
    const checks = new HealthChecks(new ManualClock())
    const removeLink = checks.addReadiness('link', () => unhealthy('no session'))
    expect((await checks.report('live')).ok).toBe(true)
    expect((await checks.report('ready')).ok).toBe(false)
    removeLink()
    expect((await checks.report('ready')).ok).toBe(true)
    checks.addLiveness('loop', () => unhealthy('stuck'))
    expect((await checks.report('ready')).ok).toBe(false)
  })

  it('counts a check that throws as failed, with its message', async () => {
    const checks = new HealthChecks(new ManualClock())
    checks.addReadiness('a', () => {
      throw new Error('boom')
    })
    checks.addReadiness('b', () => Promise.reject(new Error('later boom')))
    const { results } = await checks.report('ready')
    expect(results.map(({ health }) => health)).toEqual([HEALTHY, unhealthy('boom'), unhealthy('later boom')])
  })

  it('gives up on a check that does not answer, and leaves no timer behind', async () => {
    const clock = new ManualClock()
    const checks = new HealthChecks(clock)
    checks.addReadiness('stuck', () => new Promise(() => {}))
    const report = checks.report('ready')
    await clock.advance(HEALTH_CHECK_TIMEOUT_MS)
    expect(renderHealth('readyz', await report, false)).toContain('[-]stuck failed: no answer within 5 s\n')
    expect(clock.pending).toBe(0)
  })

  it('refuses a second check of the same name', () => {
    const checks = new HealthChecks(new ManualClock())
    checks.addReadiness('link', () => HEALTHY)
    expect(() => checks.addLiveness('link', () => HEALTHY)).toThrow('there already is a health check named "link"')
  })
})

describe('renderHealth', () => {
  const checks = new HealthChecks(new ManualClock())
  checks.addReadiness('link', () => unhealthy('no session\n[+]forged ok'))
  checks.addReadiness('store', () => HEALTHY)

  it('says ok and nothing else', async () => {
    expect(renderHealth('livez', await checks.report('live'), false)).toBe('ok')
  })

  it('lists the checks when verbose', async () => {
    expect(renderHealth('livez', await checks.report('live'), true)).toBe('[+]ping ok\nlivez check passed\n')
  })

  it('lists the checks with reasons, each on one line, when something is wrong', async () => {
    expect(renderHealth('readyz', await checks.report('ready'), false)).toBe(
      '[+]ping ok\n[-]link failed: no session [+]forged ok\n[+]store ok\nreadyz check failed\n',
    )
  })

  it('excludes by name, and says when there is no such check', async () => {
    const report = await checks.report('ready', ['link', 'lnik'])
    expect(report.ok).toBe(true)
    expect(renderHealth('readyz', report, true)).toBe(
      '[+]ping ok\n[+]link excluded: ok\n[+]store ok\nwarn: there is no check named "lnik" to exclude\nreadyz check passed\n',
    )
  })
})
