/**
 * Bounds the work that is under way: reads, writes and watches each have their own share, so that none of them starves the
 * others. The header of the fairness feature that clients look for are there; queueing is not.
 */

import { isLongRunning } from '../../kube/request-info.ts'
import { tooManyRequests } from '../../kube/status/availability-errors.ts'
import { MASTERS_GROUP } from '../auth/user.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { Filter, RequestContext } from './handler.ts'

/** The numbers of a kube-apiserver without priority and fairness. */
export const MAX_READS_IN_FLIGHT = 400
export const MAX_WRITES_IN_FLIGHT = 200
/** Watches are cheap when idle; this bounds their memory. */
export const MAX_WATCHES_IN_FLIGHT = 20_000

const readVerbs: readonly string[] = ['get', 'list', 'head', 'options']

export interface InFlightOptions {
  readonly flowSchemaUid: string
  readonly priorityLevelUid: string
  readonly metrics: Pick<RequestMetrics, 'inFlight' | 'longRunning'>
}

type Share = 'reads' | 'writes' | 'watches'

const limits: Readonly<Record<Share, number>> = {
  reads: MAX_READS_IN_FLIGHT,
  writes: MAX_WRITES_IN_FLIGHT,
  watches: MAX_WATCHES_IN_FLIGHT,
}

export function withInFlightLimits({ flowSchemaUid, priorityLevelUid, metrics }: InFlightOptions): Filter {
  const inFlight: Record<Share, number> = { reads: 0, writes: 0, watches: 0 }
  const kinds = { reads: 'readOnly', writes: 'mutating' } as const
  const enter = (share: Share, { info, query }: RequestContext): (() => void) => {
    inFlight[share]++
    if (share === 'watches') {
      const ended = metrics.longRunning(info, query)
      return () => {
        inFlight.watches--
        ended()
      }
    }
    metrics.inFlight(kinds[share], inFlight[share])
    return () => metrics.inFlight(kinds[share], --inFlight[share])
  }
  return (next) => async (context) => {
    context.responseHeaders['x-kubernetes-pf-flowschema-uid'] = flowSchemaUid
    context.responseHeaders['x-kubernetes-pf-prioritylevel-uid'] = priorityLevelUid
    const share = shareOf(context)
    // Whoever must be able to mend an overloaded server gets in.
    if (inFlight[share] >= limits[share] && !context.user.groups.includes(MASTERS_GROUP)) {
      throw tooManyRequests('too many requests, please try again later', 1)
    }
    const leave = enter(share, context)
    try {
      await next(context)
    } finally {
      leave()
    }
  }
}

function shareOf({ info }: RequestContext): Share {
  if (isLongRunning(info)) return 'watches'
  return readVerbs.includes(info.verb) ? 'reads' : 'writes'
}
