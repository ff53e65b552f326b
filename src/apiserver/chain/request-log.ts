/** One line in the log for each request that has ended, for those who look for a fault; the audit log is for the others. */
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Filter, RequestContext } from '../request/handler.ts'

export function withRequestLog(logger: Logger, clock: Clock): Filter {
  return (next) => async (context) => {
    try {
      await next(context)
    } finally {
      logger.debug({ ...facts(context), durationMs: clock.nowMs() - context.receivedMs }, 'request')
    }
  }
}

function facts({ auditId, info, exchange, user, impersonator, answer }: RequestContext): object {
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
  const caller = (impersonator ?? user).name
  const outcome = { status: answer?.status ?? 'none', from: exchange.peer.address }
  return { auditId, verb: info.verb, ...subject, caller, actingAs: user.name, ...outcome }
}
