/** Counts every request when it has ended, whatever came of it. */
import type { Clock } from '../../runtime/clock.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { Filter } from '../request/handler.ts'

export function withRequestMetrics(metrics: Pick<RequestMetrics, 'ended'>, clock: Clock): Filter {
  return (next) => async (context) => {
    const startedMs = clock.monotonicMs()
    try {
      await next(context)
    } finally {
      metrics.ended(context, (clock.monotonicMs() - startedMs) / 1000)
    }
  }
}
