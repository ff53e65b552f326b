/** The end of the row: plain text, as every API server answers for a path that nobody owns. */

import { respond } from '../answers/respond.ts'
import type { Handler } from '../request/handler.ts'

export const notFoundHandler: Handler = async (context) => {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
  await respond(context, 404, headers, Buffer.from('404 page not found\n'))
}
