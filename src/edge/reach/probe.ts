/**
 * One question to the API server that shows whether it serves: GET /readyz, and not /livez, because a server that is starting is
 * alive while it still refuses and misses what it will allow and have a moment later. What a failing check means is the core's to
 * say. It goes under the node's certificate where there is one: no stranger can crowd it out of that pool, a server without
 * anonymous requests answers it too, and it shows whether the API server still takes this node.
 */
import type { Clock } from '../../runtime/clock.ts'
import { type PoolName, type Upstream, UpstreamError } from '../upstream/upstream.ts'
import type { ProbeResult } from './reach-core.ts'

/** For the whole of a probe: a new connection and one question are four round trips, on the slowest link three seconds. */
export const PROBE_TIMEOUT_MS = 5_000
/** The shortest time for a probe, on a link whose round trip is known to be short: nobody who waits for an answer waits much longer than it takes. */
const MIN_PROBE_TIMEOUT_MS = 2_000
/** How many round trips a probe may take. */
const PROBE_ROUND_TRIPS = 20

export interface ProbeOptions {
  readonly upstream: Pick<Upstream, 'request'>
  /** `node` where the node has a certificate, else `open`. */
  readonly pool: () => PoolName
  /** The round trip of the link, where it is known. */
  readonly rttMs?: () => number | undefined
  readonly clock: Clock
}

/** Settles with what was learnt; rejects only with the reason of the signal. */
export type Probe = (signal: AbortSignal) => Promise<ProbeResult>

const headers = [
  ['accept', '*/*'],
  ['user-agent', 'causeway-endpoint'],
] as const

export function createProbe({ upstream, pool: choose, rttMs = () => undefined, clock }: ProbeOptions): Probe {
  return async (signal) => {
    signal.throwIfAborted()
    const pool = choose()
    const giveUp = new AbortController()
    const obey = (): void => giveUp.abort(signal.reason)
    signal.addEventListener('abort', obey, { once: true })
    const timeoutMs = probeTimeoutMs(rttMs())
    const cancelTimer = clock.schedule(timeoutMs, () => giveUp.abort(tooLate(timeoutMs)))
    try {
      const asked = { pool, method: 'GET', target: '/readyz', headers, body: undefined, signal: giveUp.signal }
      const { status, body } = await upstream.request(asked)
      body.cancel()
      return answeredWith(status, pool)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      return failedBy(error)
    } finally {
      cancelTimer()
      signal.removeEventListener('abort', obey)
    }
  }
}

function probeTimeoutMs(rttMs = Number.POSITIVE_INFINITY): number {
  return Math.max(MIN_PROBE_TIMEOUT_MS, Math.min(PROBE_TIMEOUT_MS, PROBE_ROUND_TRIPS * rttMs))
}

function tooLate(timeoutMs: number): UpstreamError {
  return new UpstreamError('timeout', `the API server has not answered within ${timeoutMs / 1000} s`)
}

/** What a server answers that will not show its health to us still shows that it serves. */
function answeredWith(status: number, pool: PoolName): ProbeResult {
  if (status === 401 && pool === 'node')
    return { outcome: 'rejected', why: 'the API server does not take the certificate of this node (401)' }
  if (status === 429 || status >= 500)
    return { outcome: 'unready', why: `the API server answers, but calls itself not ready (${status})` }
  return { outcome: 'ready', why: 'the API server answers' }
}

function failedBy(error: unknown): ProbeResult {
  const why = error instanceof Error ? error.message : String(error)
  const isOurs = error instanceof UpstreamError && error.kind === 'overloaded'
  return { outcome: isOurs ? 'unknown' : 'failed', why }
}
