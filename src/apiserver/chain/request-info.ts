/** Reads what the request is about; everything after decides on this reading and never on the target itself. */
import { readRequest } from '../../kube/request-info.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import type { Filter } from '../request/handler.ts'

export const withRequestInfo: Filter = (next) => async (context) => {
  const { method, target } = context.exchange
  const { info, query } = readRequest({ method, path: target })
  if (!query.isText) throw badRequest('the query of the request is not valid UTF-8 after percent-decoding')
  context.info = info
  context.query = query
  await next(context)
}
