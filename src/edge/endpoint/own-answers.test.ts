import { describe, expect, it } from 'vitest'
import { OpenError } from '../../tunnel/open-error.ts'
import { UpstreamError } from '../upstream/upstream.ts'
import { brokenBy, connectFailure, ImpostorError } from '../upstream/upstream-error.ts'
import { upstreamFailure } from './own-answers.ts'

/** As kubectl prints it. */
function printed(error: unknown, isProven: boolean): string {
  const { reason, message } = upstreamFailure(error, 'GET', isProven)?.status ?? {}
  return `Error from server (${reason}): ${message}`
}

const unreachable = 'Error from server (ServiceUnavailable): the API server cannot be reached from this node'
const overloaded = 'Error from server (ServiceUnavailable): the way from this node to the API server is overloaded'
const late = 'Error from server (Timeout): the API server cannot be reached in time'
const broken = 'Error from server (BadGateway): the connection to the API server broke before the answer was complete'

describe('a failure of the way up', () => {
  it.each<[UpstreamError, string]>([
    [
      connectFailure(new OpenError('no-route', 'hub:443 has no session: refused')),
      `${unreachable}: hub:443 has no session: refused`,
    ],
    [connectFailure(new OpenError('denied', 'no rule')), `${unreachable}: through the tunnel: no rule`],
    [connectFailure(new Error('TLS closed')), `${unreachable}: TLS closed`],
    [new ImpostorError('the certificate is foreign'), `${unreachable}: the certificate is foreign`],
    [connectFailure(new OpenError('overloaded', '9 opens wait')), `${overloaded}: through the tunnel: 9 opens wait`],
    [new UpstreamError('overloaded', '9 requests wait'), `${overloaded}: 9 requests wait`],
    [connectFailure(new OpenError('timeout', 'no answer')), `${late}: through the tunnel: no answer`],
    [brokenBy(new Error('ECONNRESET')), `${broken}: ECONNRESET`],
    [
      brokenBy(undefined),
      'Error from server (BadGateway): the connection to the API server was closed before the answer was complete',
    ],
    [new UpstreamError('broken', 'the edge is stopping'), 'Error from server (BadGateway): the edge is stopping'],
  ])('is one sentence (%#)', (error, expected) => {
    expect(printed(error, true)).toBe(expected)
  })

  it.each<[UpstreamError, string]>([
    [new UpstreamError('offline', 'secret.example'), `${unreachable}: the log of the edge on this node says why`],
    [new UpstreamError('unreachable', 'secret.example'), `${unreachable}: the log of the edge on this node says why`],
    [new UpstreamError('overloaded', 'secret.example'), `${overloaded}: the log of the edge on this node says why`],
    [new UpstreamError('timeout', 'secret.example'), `${late}: the log of the edge on this node says why`],
    [brokenBy(new Error('secret.example')), `${broken}: the log of the edge on this node says why`],
  ])('is told without names to callers who have not shown who they are (%#)', (error, expected) => {
    expect(printed(error, false)).toBe(expected)
  })

  it('is nothing else', () => {
    expect(upstreamFailure(new Error('a defect'), 'GET', true)).toBeUndefined()
  })

  it.each([
    ['GET', 'broken', 1],
    ['HEAD', 'broken', 1],
    ['POST', 'broken', undefined],
    ['POST', 'offline', 1],
    ['POST', 'timeout', 1],
  ] as const)('lets clients repeat %s by themselves after "%s": %s', (method, kind, seconds) => {
    const failure = upstreamFailure(new UpstreamError(kind, 'x'), method, true)
    expect(failure?.status.details?.retryAfterSeconds).toBe(seconds)
  })
})
