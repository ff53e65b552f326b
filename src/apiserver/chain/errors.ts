/**
 * Turns whatever is thrown below into a response: a programming error becomes a 500 without details, and is logged with them.
 * Where not even that can be sent, the safety net of the listener cuts the client off.
 */

import { ApiError } from '../../kube/status/status.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { respondError } from '../answers/respond.ts'
import type { Filter, RequestContext } from '../request/handler.ts'

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
  // Whoever has got all of an answer has not left before it: what fails then is a defect.
  const isAnswered = context.answer?.bodyBytes !== undefined
  if (!(error instanceof ApiError) && (isAnswered || !clientLeft)) {
    logger.error(
      { err: error, auditId, method: exchange.method, target: exchange.target },
      'request failed unexpectedly',
    )
  }
  if (clientLeft) return
  // Half an answer cannot be taken back: the client must see that it was cut off.
  if (exchange.started) exchange.abort()
  else await respondOrCut(context, error, logger)
}

/** What keeps an answer from going out may well keep its error from it, too: headers, negotiation, or the encoding. */
async function respondOrCut(context: RequestContext, error: unknown, logger: Logger): Promise<void> {
  const { exchange, auditId } = context
  try {
    await respondError(context, error)
  } catch (second) {
    logger.error({ err: second, auditId, method: exchange.method, target: exchange.target }, 'no error could be sent')
    if (exchange.started) exchange.abort()
    else exchange.respond(500, plainText, internalError)
  }
}

const plainText = { 'content-type': 'text/plain; charset=utf-8' }
const internalError = Buffer.from('an error on the server has prevented the request from succeeding\n')
