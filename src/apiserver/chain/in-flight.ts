/**
 * Bounds the work that is under way: reads, writes and watches each have their own share, so that none of them starves the
 * others. Nor does one caller: in a share that is half full, whoever has an eighth of it gets no more. The headers of the fairness
 * feature that clients look for are there; queueing is not.
 */

import { isLongRunning } from '../../kube/request-info.ts'
import { tooManyRequests } from '../../kube/status/availability-errors.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import type { Filter, RequestContext } from '../request/handler.ts'
import { MASTERS_GROUP } from '../request/user.ts'

/** The numbers of a kube-apiserver without priority and fairness. */
const MAX_READS_IN_FLIGHT = 400
export const MAX_WRITES_IN_FLIGHT = 200
/** Watches are cheap when idle; this bounds their memory. */
const MAX_WATCHES_IN_FLIGHT = 20_000

/** From here on a share is kept for those who have little of it. */
const crowdedPart = 1 / 2
/** What one caller may have of a crowded share. */
const callerPart = 1 / 8

const readVerbs: readonly string[] = ['get', 'list', 'head', 'options']

export interface InFlightOptions {
  readonly flowSchemaUid: string
  readonly priorityLevelUid: string
  readonly metrics: Pick<RequestMetrics, 'inFlight' | 'longRunning'>
}

type Share = 'reads' | 'writes' | 'watches'

/** The requests of one share that are under way, and whose they are. */
class Places {
  readonly #max: number
  readonly #byCaller = new Map<string, number>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  get taken(): number {
    return this.#taken
  }

  hasRoomFor(caller: string): boolean {
    if (this.#taken >= this.#max) return false
    return this.#taken < this.#max * crowdedPart || (this.#byCaller.get(caller) ?? 0) < this.#max * callerPart
  }

  take(caller: string): void {
    this.#taken += 1
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + 1)
  }

  leave(caller: string): void {
    this.#taken -= 1
    const left = (this.#byCaller.get(caller) ?? 0) - 1
    if (left > 0) this.#byCaller.set(caller, left)
    else this.#byCaller.delete(caller)
  }
}

export function withInFlightLimits({ flowSchemaUid, priorityLevelUid, metrics }: InFlightOptions): Filter {
  const places: Readonly<Record<Share, Places>> = {
    reads: new Places(MAX_READS_IN_FLIGHT),
    writes: new Places(MAX_WRITES_IN_FLIGHT),
    watches: new Places(MAX_WATCHES_IN_FLIGHT),
  }
  const kinds = { reads: 'readOnly', writes: 'mutating' } as const
  const enter = (share: Share, { info, query, user }: RequestContext): (() => void) => {
    const own = places[share]
    own.take(user.name)
    if (share === 'watches') {
      const ended = metrics.longRunning(info, query)
      return () => {
        own.leave(user.name)
        ended()
      }
    }
    metrics.inFlight(kinds[share], own.taken)
    return () => {
      own.leave(user.name)
      metrics.inFlight(kinds[share], own.taken)
    }
  }
  return (next) => async (context) => {
    context.responseHeaders['x-kubernetes-pf-flowschema-uid'] = flowSchemaUid
    context.responseHeaders['x-kubernetes-pf-prioritylevel-uid'] = priorityLevelUid
    const share = shareOf(context)
    const { name, groups } = context.user
    // Whoever must be able to mend an overloaded server gets in.
    if (!places[share].hasRoomFor(name) && !groups.includes(MASTERS_GROUP)) {
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
