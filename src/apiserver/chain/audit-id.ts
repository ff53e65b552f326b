/** Gives every request an id that the response and the audit log carry; a client may bring its own. */
import { randomUUID } from 'node:crypto'
import type { Filter } from './handler.ts'

/** Longer ids are cut, so that a client cannot blow up the log. */
export const MAX_AUDIT_ID_CHARACTERS = 64

export const withAuditId: Filter = (next) => async (context) => {
  const given = context.exchange.headers.get('audit-id') ?? ''
  context.auditId = given === '' ? randomUUID() : given.slice(0, MAX_AUDIT_ID_CHARACTERS)
  context.responseHeaders['audit-id'] = context.auditId
  await next(context)
}
