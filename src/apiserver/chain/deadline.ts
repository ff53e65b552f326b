/**
 * Puts an end to requests that take too long: the client's `timeout` parameter, at most the server's own limit. Watches,
 * logs and the like have no deadline.
 */

import { parseDuration } from '../../kube/codec/duration.ts'
import { isLongRunning } from '../../kube/request-info.ts'
import { timeout } from '../../kube/status/availability-errors.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Filter, RequestContext } from '../request/handler.ts'

/** What a client that waits for an answer can bear, and what API servers grant. */
const MAX_REQUEST_MS = 60_000

export function withDeadline(clock: Clock): Filter {
  return (next) => async (context) => {
    if (isLongRunning(context.info)) {
      await next(context)
      return
    }
    const limitMs = limitOf(context)
    const expired = new AbortController()
    // By hand: a signal of AbortSignal.any is held by weak references, which make it outlive its request.
    const { signal: outer } = context
    const forward = (): void => expired.abort(outer.reason)
    if (outer.aborted) forward()
    else outer.addEventListener('abort', forward, { once: true })
    context.signal = expired.signal
    let giveUp: (error: Error) => void = () => {}
    const late = new Promise<never>((_resolve, reject) => {
      giveUp = reject
    })
    const cancel = clock.schedule(limitMs, () => {
      const error = timeout('request did not complete within the allotted timeout', 0)
      expired.abort(error)
      giveUp(error)
    })
    try {
      await Promise.race([next(context), late])
    } finally {
      cancel()
      outer.removeEventListener('abort', forward)
    }
  }
}

function limitOf({ query }: RequestContext): number {
  const given = query.first('timeout')
  if (given === undefined || given === '') return MAX_REQUEST_MS
  const nanoseconds = parseDuration(given)
  if (nanoseconds === undefined)
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(given)}`)
  return nanoseconds === 0n ? MAX_REQUEST_MS : Math.min(MAX_REQUEST_MS, Math.max(0, Number(nanoseconds / 1_000_000n)))
}
