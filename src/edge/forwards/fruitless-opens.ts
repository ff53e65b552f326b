/**
 * Keeps programs of this node from costing it its session. A hub ends the session of a peer that opens stream after stream for
 * nothing: to where it may not go, or given up before the answer. Any program that reaches a local port can cause that, so the edge
 * refuses here, long before the hub counts too many.
 */
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { OpenStream } from './forward.ts'

/** Streams of all forwards per second, over time, that come to nothing: well below what hubs bear. */
export const FRUITLESS_FORWARDS_PER_SECOND = 400
/** Streams of all forwards that come to nothing at once, those that have no answer yet included. */
export const FRUITLESS_FORWARDS_AT_ONCE = 2_000

interface Budget {
  readonly perSecond: number
  readonly atOnce: number
}

const defaultBudget: Budget = { perSecond: FRUITLESS_FORWARDS_PER_SECOND, atOnce: FRUITLESS_FORWARDS_AT_ONCE }

/** For all forwards of an edge. Each open counts as fruitless until it turns out not to be. */
export function withinBudget(open: OpenStream, clock: Clock, { perSecond, atOnce } = defaultBudget): OpenStream {
  const fruitless = new TokenBucket(perSecond, clock.monotonicMs(), atOnce)
  return async (header, signal) => {
    if (!fruitless.take(clock.monotonicMs()))
      throw new OpenError('overloaded', `more than ${perSecond} connections per second of this node come to nothing`)
    const opened = await open(header, signal).catch((error: unknown) => {
      // No stream was opened, so that the hub has seen nothing.
      fruitless.giveBack()
      throw error
    })
    opened.answered.then(
      () => fruitless.giveBack(),
      () => {},
    )
    return opened
  }
}
