import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { CLAIMS_MAX_AGE_MS, Freshness } from './claims/freshness.ts'
import { ClusterWatchdog, createClusterMetrics, SESSIONS_MAX_CLAIMS_AGE_MS } from './cluster-watchdog.ts'

async function watching() {
  const clock = new ManualClock()
  const freshness = new Freshness(clock)
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) }
  const logger = createLogger({ level: 'info', format: 'json', clock, destination })
  const endSessions = vi.fn()
  const watchdog = new ClusterWatchdog({ cluster: 'east', freshness, clock, logger, endSessions })
  freshness.proven(clock.monotonicMs())
  const running = await watchdog.start(new AbortController().signal)
  return { clock, freshness, lines, endSessions, watchdog, running }
}

describe('ClusterWatchdog', () => {
  it('says once that the cluster is gone and once that it is back, and answers readiness', async () => {
    const { clock, freshness, lines, watchdog } = await watching()
    await clock.advance(CLAIMS_MAX_AGE_MS)
    expect(watchdog.health()).toEqual({ ok: true })
    expect(lines).toEqual([])
    freshness.failed(new Error('the way is cut'))
    await clock.advance(60_000)
    expect(lines).toMatchObject([{ level: 'error', cluster: 'east', err: { message: 'the way is cut' } }])
    const reason = 'the API server has not confirmed the claims of nodes for 70 s: the way is cut'
    expect(watchdog.health()).toEqual({ ok: false, reason })
    expect(watchdog.status).toEqual({ name: 'east', ready: false, claimsAgeSeconds: 70, problem: reason })
    freshness.proven(clock.monotonicMs())
    await clock.advance(5_000)
    expect(watchdog.status).toEqual({ name: 'east', ready: true, claimsAgeSeconds: 5 })
    expect(lines.slice(1)).toMatchObject([{ level: 'info', msg: 'the cluster answers again' }])
  })

  it('keeps sessions for a while, and then ends them', async () => {
    const { clock, endSessions, running } = await watching()
    await clock.advance(SESSIONS_MAX_CLAIMS_AGE_MS)
    expect(endSessions).not.toHaveBeenCalled()
    await clock.advance(2_000)
    expect(endSessions).toHaveBeenCalled()
    await running.stop(AbortSignal.abort())
    expect(clock.pending).toBe(0)
  })

  it('tells the age as a number', async () => {
    const { clock, watchdog } = await watching()
    const registry = new Registry()
    createClusterMetrics(registry, () => [watchdog.status])
    await clock.advance(30_000)
    const text = await registry.metrics()
    expect(text).toContain('causeway_hub_claims_age_seconds{cluster="east"} 30')
    expect(text).toContain('causeway_hub_cluster_ready{cluster="east"} 0')
  })
})
