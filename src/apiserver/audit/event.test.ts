import { describe, expect, it } from 'vitest'
import { RequestHeaders } from '../../http/server/exchange.ts'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import type { ApiError } from '../../kube/status/status.ts'
import type { RequestContext } from '../request/handler.ts'
import { auditEvent, MAX_AUDITED_CAUSES, MAX_AUDITED_TARGET_CHARACTERS, MAX_AUDITED_TEXT_CHARACTERS } from './event.ts'

const alice = { name: 'alice', uid: 'u1', groups: ['g'], extra: { e: ['1'] } }
const bob = { name: 'bob', uid: '', groups: [], extra: {} }

function context(target: string, more: Partial<RequestContext> = {}): RequestContext {
  return {
    exchange: {
      target,
      headers: new RequestHeaders([
        ['user-agent', 'kubectl'],
        ['authorization', 'Bearer abc'],
      ]),
      peer: { address: '10.0.0.1', certificates: [] },
    },
    receivedMs: 1_000,
    auditId: 'id',
    info: parseRequestInfo({ method: 'GET', path: target }),
    user: alice,
    answer: { status: 200 },
    ...more,
  } as unknown as RequestContext
}

const statusOf = (error: ApiError) => error.status

describe('an audit event', () => {
  it('says who asked for what, and what came of it', () => {
    const decision = { verdict: 'allow', reason: 'because' } as const
    const given = context('/apis/apps/v1/namespaces/n/deployments/d/scale?x=1', { decision })
    expect(auditEvent(given, 'ResponseComplete', 2_500)).toEqual({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: 'id',
      stage: 'ResponseComplete',
      requestURI: '/apis/apps/v1/namespaces/n/deployments/d/scale?x=1',
      verb: 'get',
      user: { username: 'alice', uid: 'u1', groups: ['g'], extra: { e: ['1'] } },
      sourceIPs: ['10.0.0.1'],
      userAgent: 'kubectl',
      objectRef: {
        resource: 'deployments',
        namespace: 'n',
        name: 'd',
        apiGroup: 'apps',
        apiVersion: 'v1',
        subresource: 'scale',
      },
      responseStatus: { metadata: {}, code: 200 },
      requestReceivedTimestamp: '1970-01-01T00:00:01.000000Z',
      stageTimestamp: '1970-01-01T00:00:02.500000Z',
      annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': 'because' },
    })
  })

  it('tells the caller from whom it plays', () => {
    const event = auditEvent(context('/api', { user: bob, impersonator: alice }), 'ResponseComplete', 0)
    expect(event.user.username).toBe('alice')
    expect(event.impersonatedUser).toEqual({ username: 'bob' })
    expect(event.objectRef).toBeUndefined()
  })

  it('knows nobody who was turned away, and no answer where there was none', () => {
    expect(auditEvent(context('/api', { answer: { status: 401 } }), 'ResponseComplete', 0).user).toEqual({})
    const { answer: _, ...left } = context('/api')
    expect(auditEvent(left as RequestContext, 'ResponseComplete', 0).responseStatus).toBeUndefined()
  })

  it('tells why, but not where the reason may quote a secret', () => {
    const failure = statusOf(badRequest('quoted'))
    const refused = { failure, answer: { status: 400 } }
    const of = (path: string) => auditEvent(context(path, refused), 'ResponseComplete', 0).responseStatus
    expect(of('/api/v1/pods')).toMatchObject({ status: 'Failure', message: 'quoted', reason: 'BadRequest', code: 400 })
    expect(of('/api/v1/secrets')).toEqual({ metadata: {}, status: 'Failure', reason: 'BadRequest', code: 400 })
    expect(JSON.stringify(auditEvent(context('/api/v1/pods'), 'ResponseComplete', 0))).not.toContain('Bearer')
  })

  it('is no longer than somebody may read, whatever was asked for', () => {
    const long = 'x'.repeat(15_000)
    const causes = Array.from({ length: 1_000 }, () => ({ reason: 'FieldValueInvalid', message: long, field: long }))
    const failure = { ...statusOf(badRequest(long)), details: { name: long, causes } }
    const decision = { verdict: 'deny', reason: long } as const
    const more = { failure, decision, answer: { status: 403 } }
    const event = auditEvent(
      context(`/apis/${long}/v1/namespaces/${long}/pods/${long}/log?${long}`, more),
      'ResponseComplete',
      0,
    )
    expect(event.requestURI).toHaveLength(MAX_AUDITED_TARGET_CHARACTERS + 3)
    expect(event.objectRef?.name).toBe(`${'x'.repeat(MAX_AUDITED_TEXT_CHARACTERS)}...`)
    expect(event.responseStatus?.details?.causes).toHaveLength(MAX_AUDITED_CAUSES)
    expect(JSON.stringify(event).length).toBeLessThan(32 * 1024)
  })
})
