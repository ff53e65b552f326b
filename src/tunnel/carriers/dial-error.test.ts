import { describe, expect, it } from 'vitest'
import { connectFailure, DialError } from './dial-error.ts'

describe('connectFailure', () => {
  it.each([
    ['ENOTFOUND', 'dns'],
    ['EAI_AGAIN', 'dns'],
    ['ECONNREFUSED', 'refused'],
    ['ECONNRESET', 'refused'],
    ['ETIMEDOUT', 'timeout'],
    ['EHOSTUNREACH', 'unreachable'],
    ['ENETUNREACH', 'unreachable'],
    ['EPERM', 'unreachable'],
  ])('takes %s for %s', (errno, code) => {
    const error = connectFailure('the hub h:1', 'connect', Object.assign(new Error('no'), { code: errno }))
    expect(error).toMatchObject({ code, phase: 'connect' })
    expect(error.message).toMatch(new RegExp(`^cannot connect to the hub h:1: .+ \\(${errno}\\)$`))
  })
})

describe('DialError', () => {
  it('tells what was tried before, and keeps what the hub said', () => {
    const refusal = { status: 403, code: 'certificate-revoked', message: 'gone' }
    const earlier = [{ kind: 'tls', error: new DialError('alpn', 'handshake', 'not offered') }] as const
    const error = new DialError('upgrade', 'upgrade', 'refused', { refusal })
    expect(error.after([])).toBe(error)
    expect(error.after(earlier)).toMatchObject({
      message: 'refused (tls failed before that: not offered)',
      refusal,
      earlier,
    })
  })
})
