/**
 * The API server is a row of delegates: aggregator, core, custom resources, not found. Each either owns a request or
 * passes it on.
 */
import type { Handler, RequestContext } from '../request/handler.ts'

/** False when the request is not for this one; nothing has been sent then. */
export type Delegate = (context: RequestContext) => Promise<boolean>

export function delegation(delegates: readonly Delegate[], last: Handler): Handler {
  return async (context) => {
    for (const delegate of delegates) if (await delegate(context)) return
    await last(context)
  }
}
