/** Gives every request an id that the response and the audit log carry; a client may bring its own. */
import { randomUUID } from 'node:crypto'
import { legalHeaderValue } from '../../http/server/legal-headers.ts'
import type { Filter } from '../request/handler.ts'

/** Longer ids are cut, so that a client cannot blow up the log. kube-apiserver cuts them there too, and sends back the whole. */
const MAX_AUDIT_ID_CHARACTERS = 64

export const withAuditId: Filter = (next) => async (context) => {
  context.auditId = auditIdOf(context.exchange.headers.get('audit-id') ?? '')
  context.responseHeaders['audit-id'] = context.auditId
  await next(context)
}

/** Cut first: what a cut leaves at the end may be a space, which no header ends in. */
function auditIdOf(given: string): string {
  const id = legalHeaderValue(given.slice(0, MAX_AUDIT_ID_CHARACTERS))
  return id === '' ? randomUUID() : id
}
