/** One line in the log for each request that has ended: who asked for what, and what came of it. */
import type { Clock } from '../../telemetry/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Filter, RequestContext } from './handler.ts'

export function withAuditLog(logger: Logger, clock: Clock): Filter {
  return (next) => async (context) => {
    const caller = context.user.name
    let outcome = 'done'
    try {
      await next(context)
    } catch (error) {
      outcome = (error as { reason?: string }).reason ?? 'error'
      throw error
    } finally {
      logger.debug({ ...facts(context), caller, outcome, durationMs: clock.nowMs() - context.receivedMs }, 'request')
    }
  }
}

function facts({ auditId, info, exchange, user }: RequestContext): object {
  const subject =
    info.kind === 'resource'
      ? {
          group: info.apiGroup,
          resource: info.resource,
          subresource: info.subresource,
          namespace: info.namespace,
          name: info.name,
        }
      : { path: info.path }
  return { auditId, verb: info.verb, ...subject, actingAs: user.name, from: exchange.peer.address }
}
