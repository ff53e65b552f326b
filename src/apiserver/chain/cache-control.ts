/** Answers depend on who asks: no cache in between may keep them, unless a handler says otherwise. */
import type { Filter } from '../request/handler.ts'

export const withCacheControl: Filter = (next) => async (context) => {
  context.responseHeaders['cache-control'] = 'no-cache, private'
  await next(context)
}
