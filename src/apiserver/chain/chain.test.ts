import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { type Exchange, RequestHeaders, type ResponseStream } from '../../http/server/exchange.ts'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { EMPTY_QUERY } from '../../kube/request-query.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { respond, respondStream } from '../answers/respond.ts'
import { Audit } from '../audit/audit.ts'
import type { AuditEvent } from '../audit/event.ts'
import { StreamSink } from '../audit/stream-sink.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { createMetrics } from '../metrics/metrics.ts'
import { ALLOWED, type Authorizer, NO_RULES, noOpinion } from '../request/authorizer.ts'
import { chain, type RequestContext } from '../request/handler.ts'
import { anonymousUser } from '../request/user.ts'
import { withAuditId } from './audit-id.ts'
import { withAuditLog } from './audit-log.ts'
import { withAuthentication } from './authentication.ts'
import { withAuthorization } from './authorization.ts'
import { withErrorResponses } from './errors.ts'
import { withImpersonation } from './impersonation.ts'
import { withInFlightLimits } from './in-flight.ts'
import { withRequestInfo } from './request-info.ts'
import { withRequestMetrics } from './request-metrics.ts'

const clock = new ManualClock()
const logger = createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock })

/** `alice` comes by a token, and may do everything but delete; others may do nothing. */
const byToken: Authenticator = {
  authenticate: ({ headers }) => {
    const token = headers.get('authorization')
    if (token === undefined) return Promise.resolve({ outcome: 'absent' })
    if (token !== 'Bearer good') return Promise.resolve({ outcome: 'wrong', reason: 'unknown' })
    return Promise.resolve({ outcome: 'known', user: { name: 'alice', uid: '', groups: [], extra: {} } })
  },
}
const authorizer: Authorizer = {
  authorize: ({ user, verb }) => (user.name !== 'nobody' && verb !== 'delete' ? ALLOWED : noOpinion('not that')),
  rulesFor: () => NO_RULES,
}

/** A small server: answers with a body, or with a stream for a watch. */
function server() {
  const registry = new Registry()
  const metrics = createMetrics(registry)
  const events: AuditEvent[] = []
  const sink = new StreamSink({ write: (line) => events.push(JSON.parse(line) as AuditEvent) })
  const handle = chain(
    [
      withAuditId,
      withRequestMetrics(metrics.requests, clock),
      withAuditLog(new Audit(registry, sink), clock),
      withErrorResponses(logger),
      withRequestInfo,
      withAuthentication({
        authenticators: [byToken],
        allowAnonymous: false,
        attempted: (result, name) => metrics.access.authenticated(result, name),
      }),
      withImpersonation(authorizer, clock),
      withInFlightLimits({ flowSchemaUid: '', priorityLevelUid: '', metrics: metrics.requests }),
      withAuthorization({ authorizer, decided: (verdict) => metrics.access.authorized(verdict) }),
    ],
    async (context) => {
      if (context.info.verb === 'watch') respondStream(context, 200, {}).end()
      else if (context.info.verb === 'create') throw new Error('a defect')
      else await respond(context, 200, {}, Buffer.from('done'))
    },
  )
  const ask = async (method: string, target: string, headers: Record<string, string> = {}): Promise<number> => {
    const answers: number[] = []
    await handle(contextOf(method, target, headers, answers))
    return answers[0] ?? 0
  }
  return { ask, events, text: () => registry.metrics() }
}

function contextOf(method: string, target: string, headers: Record<string, string>, answers: number[]): RequestContext {
  const stream: ResponseStream = { write: () => true, drained: () => Promise.resolve(), end: () => {} }
  const exchange: Exchange = {
    method,
    target,
    host: 'x',
    httpVersion: '2',
    headers: new RequestHeaders(Object.entries(headers)),
    peer: { address: '10.0.0.1', certificates: [] },
    closed: new AbortController().signal,
    started: false,
    readBody: () => Promise.resolve(Buffer.alloc(0)),
    respond: (status) => void answers.push(status),
    stream: (status) => {
      answers.push(status)
      return stream
    },
    abort: () => {},
  }
  return {
    exchange,
    receivedMs: 0,
    responseHeaders: {},
    warnings: new Set(),
    auditId: '',
    info: parseRequestInfo({ method: 'GET', path: '/' }),
    query: EMPTY_QUERY,
    user: anonymousUser,
    turn: () => undefined,
    signal: exchange.closed,
  }
}

const good = { authorization: 'Bearer good' }
const pods = '/api/v1/namespaces/n/pods'
const outline = ({ stage, user, responseStatus }: AuditEvent) => [stage, user.username, responseStatus?.code]

describe('the chain', () => {
  it('tells the audit log and the metrics of an answer', async () => {
    const { ask, events, text } = server()
    expect(await ask('GET', `${pods}/x`, good)).toBe(200)
    expect(events.map(outline)).toEqual([['ResponseComplete', 'alice', 200]])
    expect(events[0]?.annotations).toEqual({
      'authorization.k8s.io/decision': 'allow',
      'authorization.k8s.io/reason': '',
    })
    expect(await text()).toMatch(/apiserver_request_total\{.*resource="pods".*code="200"\} 1/)
  })

  it('tells of a long request when it begins and when it ends', async () => {
    const { ask, events, text } = server()
    expect(await ask('GET', `${pods}?watch=1`, good)).toBe(200)
    expect(events.map(outline)).toEqual([
      ['ResponseStarted', 'alice', 200],
      ['ResponseComplete', 'alice', 200],
    ])
    expect(await text()).toMatch(/apiserver_longrunning_requests\{verb="WATCH".*\} 0/)
  })

  it('tells of those who were turned away, and why', async () => {
    const { ask, events, text } = server()
    expect(await ask('GET', pods)).toBe(401)
    expect(await ask('GET', pods, { authorization: 'Bearer bad' })).toBe(401)
    expect(await ask('DELETE', `${pods}/x`, good)).toBe(403)
    expect(events.map(outline)).toEqual([
      ['ResponseComplete', undefined, 401],
      ['ResponseComplete', undefined, 401],
      ['ResponseComplete', 'alice', 403],
    ])
    expect(events[2]?.annotations).toMatchObject({ 'authorization.k8s.io/decision': 'forbid' })
    expect(events[2]?.responseStatus).toMatchObject({ status: 'Failure', reason: 'Forbidden' })
    const metrics = await text()
    expect(metrics).toContain('authentication_attempts{result="failure"} 1')
    expect(metrics).toContain('authentication_attempts{result="error"} 1')
    expect(metrics).toContain('authorization_attempts_total{result="no-opinion"} 1')
  })

  it('keeps who really asked', async () => {
    const { ask, events } = server()
    expect(await ask('GET', pods, { ...good, 'impersonate-user': 'nobody' })).toBe(403)
    expect(events[0]).toMatchObject({ user: { username: 'alice' }, impersonatedUser: { username: 'nobody' } })
  })

  it('answers 500 for a defect of ours, and tells of it like of any other answer', async () => {
    const { ask, events, text } = server()
    expect(await ask('POST', pods, good)).toBe(500)
    expect(events.map(outline)).toEqual([['ResponseComplete', 'alice', 500]])
    expect(await text()).toContain('apiserver_current_inflight_requests{request_kind="mutating"} 0')
  })
})
