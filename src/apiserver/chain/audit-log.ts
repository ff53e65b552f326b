/**
 * Tells the audit log of each request: when it has ended, and of a long one also when its response begins. It stands
 * around everything that may answer, so that it sees what was really answered.
 */
import { isLongRunning } from '../../kube/request-info.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Audit } from '../audit/audit.ts'
import { type AuditStage, auditEvent } from '../audit/event.ts'
import type { Filter, RequestContext } from '../request/handler.ts'

export function withAuditLog(audit: Audit, clock: Clock): Filter {
  const record = (context: RequestContext, stage: AuditStage): void =>
    audit.record(auditEvent(context, stage, clock.nowMs()))
  return (next) => async (context) => {
    if (!audit.isOn) return await next(context)
    context.onStream = () => {
      if (isLongRunning(context.info)) record(context, 'ResponseStarted')
    }
    try {
      await next(context)
    } finally {
      record(context, 'ResponseComplete')
    }
  }
}
