/** What every request passes before it reaches a delegate: filters, outermost first, each with the reason for its place. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Audit } from './audit/audit.ts'
import { withAuditId } from './chain/audit-id.ts'
import { withAuditLog } from './chain/audit-log.ts'
import { withAuthentication } from './chain/authentication.ts'
import { withAuthorization } from './chain/authorization.ts'
import { withCacheControl } from './chain/cache-control.ts'
import { withDeadline } from './chain/deadline.ts'
import { withErrorResponses } from './chain/errors.ts'
import { withImpersonation } from './chain/impersonation.ts'
import { withInFlightLimits } from './chain/in-flight.ts'
import { withRequestInfo } from './chain/request-info.ts'
import { withRequestLog } from './chain/request-log.ts'
import { withRequestMetrics } from './chain/request-metrics.ts'
import type { Auth } from './compose-auth.ts'
import type { ApiServerMetrics } from './metrics/metrics.ts'
import { chain, type Handler } from './request/handler.ts'

export interface ChainOptions {
  readonly auth: Pick<Auth, 'authenticators' | 'allowsAnonymous' | 'authorizer'>
  readonly audit: Audit
  readonly metrics: ApiServerMetrics
  readonly clock: Clock
  readonly logger: Logger
  readonly delegates: Handler
}

export function composeChain({ auth, audit, metrics, clock, logger, delegates }: ChainOptions): Handler {
  const { authenticators, allowsAnonymous, authorizer } = auth
  const { requests, access } = metrics
  return chain(
    [
      // Outermost, so that every answer can be found in the logs.
      withAuditId,
      // Metrics and logs see what was really answered, by whichever filter.
      withRequestMetrics(requests, clock),
      withAuditLog(audit, clock),
      withRequestLog(logger, clock),
      // Everything further in may throw; nothing gets past this.
      withErrorResponses(logger),
      // The reading on which all further filters decide.
      withRequestInfo,
      // On errors of the filters below as well.
      withCacheControl,
      // Before anything that may wait.
      withDeadline(clock),
      // Who asks.
      withAuthentication({
        authenticators,
        allowAnonymous: allowsAnonymous,
        attempted: (result, userName) => access.authenticated(result, userName),
      }),
      // From here on the request may be somebody else's.
      withImpersonation(authorizer, clock),
      // After authentication: an overloaded server still lets its administrator in.
      withInFlightLimits({ flowSchemaUid: randomUUID(), priorityLevelUid: randomUUID(), metrics: requests }),
      // Innermost: nothing but the question itself is left.
      withAuthorization({ authorizer, decided: (verdict) => access.authorized(verdict) }),
    ],
    delegates,
  )
}
