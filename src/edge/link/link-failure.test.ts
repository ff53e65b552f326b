import { describe, expect, it } from 'vitest'
import { DialError } from '../../tunnel/carriers/dial-error.ts'
import { SessionError } from '../../tunnel/yamux/errors.ts'
import { HubError, networkError, tlsError } from '../hub/hub-error.ts'
import { linkFailureOf } from './link-failure.ts'

function upgradeRefused(status: number, code = 'name-taken', retryAfterSeconds?: number): DialError {
  const refusal = { status, code, message: 'no', ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
  return new DialError('upgrade', 'upgrade', 'the hub refuses', { refusal })
}

describe('a failure', () => {
  it.each([
    [
      'revoked',
      new HubError('refusal', 'certificate-revoked', 'no', { retryable: false }),
      'certificate-revoked',
      true,
    ],
    ['busy', new HubError('refusal', 'overloaded', 'later', { retryable: true }), 'overloaded', false],
    ['a network fault', networkError('refused', 'x'), 'refused', false],
    ['somebody who is not the hub', tlsError('hub-untrusted', 'x'), 'hub-untrusted', false],
    ['a refused upgrade', upgradeRefused(403), 'name-taken', true],
    ['a throttled upgrade', upgradeRefused(429, 'too-many'), 'too-many', false],
    ['a hub that starts', upgradeRefused(503, 'starting'), 'starting', false],
    ['a dial without an answer', new DialError('timeout', 'connect', 'x'), 'timeout', false],
    ['the end of a session', new SessionError('keepalive-timeout', 'x'), 'keepalive-timeout', false],
    ['anything else', new Error('x'), 'failed', false],
  ])('%s', (_, error, code, isFinal) => {
    expect(linkFailureOf(error)).toMatchObject({ code, isFinal })
  })

  it('is not final where somebody stands between us and the hub', () => {
    const refusal = { status: 401, code: 'certificate-missing', message: 'no' }
    expect(linkFailureOf(new DialError('intercepted', 'upgrade', 'x', { refusal }))).toMatchObject({ isFinal: false })
  })

  it('keeps the time that the hub asked for', () => {
    expect(linkFailureOf(upgradeRefused(503, 'starting', 4))).toMatchObject({ retryAfterMs: 4_000 })
  })
})
