/** Reads what the request is about; everything after decides on this reading and never on the target itself. */
import { parseRequestInfo } from '../../kube/request-info.ts'
import type { Filter } from './handler.ts'

export const withRequestInfo: Filter = (next) => async (context) => {
  const { method, target } = context.exchange
  context.info = parseRequestInfo({ method, path: target })
  const mark = target.indexOf('?')
  context.query = new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1))
  await next(context)
}
