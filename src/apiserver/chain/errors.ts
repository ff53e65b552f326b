/**
 * Turns whatever is thrown below into a response. Nothing that is thrown leaves this filter: a programming error becomes a
 * 500 without details, and is logged with them.
 */

import { ApiError } from '../../kube/status/index.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { respondError } from '../serving/respond-error.ts'
import type { Filter, RequestContext } from './handler.ts'

export function withErrorResponses(logger: Logger): Filter {
  return (next) => async (context) => {
    try {
      await next(context)
    } catch (error) {
      await answer(context, error, logger)
    }
  }
}

async function answer(context: RequestContext, error: unknown, logger: Logger): Promise<void> {
  const { exchange, auditId } = context
  const clientLeft = exchange.closed.aborted
  if (!(error instanceof ApiError) && !clientLeft) {
    logger.error(
      { err: error, auditId, method: exchange.method, target: exchange.target },
      'request failed unexpectedly',
    )
  }
  if (clientLeft) return
  // Half an answer cannot be taken back: the client must see that it was cut off.
  if (exchange.started) exchange.abort()
  else await respondError(context, error)
}
