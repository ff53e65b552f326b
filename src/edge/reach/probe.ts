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

export interface ProbeOptions {
  readonly upstream: Pick<Upstream, 'request'>
  /** `node` where the node has a certificate, else `open`. */
  readonly pool: () => PoolName
  readonly clock: Clock
}

/** Settles with what was learnt; rejects only with the reason of the signal. */
export type Probe = (signal: AbortSignal) => Promise<ProbeResult>

const headers = [
  ['accept', '*/*'],
  ['user-agent', 'causeway-endpoint'],
] as const

export function createProbe({ upstream, pool: choose, clock }: ProbeOptions): Probe {
  return async (signal) => {
    signal.throwIfAborted()
    const pool = choose()
    const giveUp = new AbortController()
    const obey = (): void => giveUp.abort(signal.reason)
    signal.addEventListener('abort', obey, { once: true })
    const cancelTimer = clock.schedule(PROBE_TIMEOUT_MS, () => giveUp.abort(tooLate))
    try {
      const asked = { pool, method: 'GET', target: '/readyz', headers, body: undefined, signal: giveUp.signal }
      const { status, body } = await upstream.request(asked)
      body.on('error', () => {})
      body.destroy()
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

const tooLate = new UpstreamError('timeout', `the API server has not answered within ${PROBE_TIMEOUT_MS / 1000} s`)

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
