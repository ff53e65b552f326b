import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../telemetry/clock.ts'
import { ACCEPTED_TOKEN_MS, AcceptedTokens, MAX_ACCEPTED_TOKENS, showsAcceptance } from './accepted-tokens.ts'

const jwt = (sub: unknown): string => `h.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.s`

describe('AcceptedTokens', () => {
  it('knows a token for a while after its last use, and not after a refusal', async () => {
    const clock = new ManualClock()
    const tokens = new AcceptedTokens(clock)
    expect(tokens.classOf('h')).toBeUndefined()
    tokens.accept('h', 'opaque')
    await clock.advance(ACCEPTED_TOKEN_MS * 0.6)
    tokens.accept('h', 'opaque')
    await clock.advance(ACCEPTED_TOKEN_MS - 1)
    expect(tokens.classOf('h')).toBe('token')
    await clock.advance(1)
    expect(tokens.classOf('h')).toBeUndefined()
    tokens.accept('h', 'opaque')
    tokens.forget('h')
    expect(tokens.classOf('h')).toBeUndefined()
  })

  it.each([
    [jwt('system:serviceaccount:default:app'), 'service-account'],
    [jwt('jane'), 'token'],
    [jwt(7), 'token'],
    ['h.null.s', 'token'],
    [`h.${Buffer.from('null').toString('base64url')}.s`, 'token'],
    ['opaque', 'token'],
  ])('tells by %s what kind it is', (token, expected) => {
    const tokens = new AcceptedTokens(new ManualClock())
    tokens.accept('h', token)
    expect(tokens.classOf('h')).toBe(expected)
  })

  it('forgets the one used longest ago where there are too many', async () => {
    const clock = new ManualClock()
    const tokens = new AcceptedTokens(clock)
    tokens.accept('old', 'x')
    tokens.accept('older', 'x')
    await clock.advance(ACCEPTED_TOKEN_MS * 0.6)
    tokens.accept('old', 'x')
    for (let count = 2; count <= MAX_ACCEPTED_TOKENS; count += 1) tokens.accept(`t${count}`, 'x')
    expect([tokens.size, tokens.classOf('older'), tokens.classOf('old')]).toEqual([
      MAX_ACCEPTED_TOKENS,
      undefined,
      'token',
    ])
  })
})

describe('showsAcceptance', () => {
  it.each([
    ['GET', 200, true],
    ['GET', 101, true],
    ['GET', 403, true],
    ['GET', 404, true],
    ['GET', 400, false],
    ['GET', 401, false],
    ['GET', 429, false],
    ['GET', 500, false],
    ['GET', 503, false],
    ['OPTIONS', 204, false],
  ])('of %s %i: %s', (method, status, expected) => expect(showsAcceptance(method, status)).toBe(expected))
})
