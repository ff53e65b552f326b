import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import {
  ACCEPTED_TOKEN_MS,
  AcceptedTokens,
  MAX_ACCEPTED_TOKENS,
  MAX_HELD_TOKEN_MS,
  showsAcceptance,
} from './accepted-tokens.ts'

const jwt = (sub: unknown): string => `h.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.s`

describe('AcceptedTokens', () => {
  it('knows a token for a while after its last use, and not after a refusal', async () => {
    const clock = new ManualClock()
    const tokens = new AcceptedTokens(clock)
    expect(tokens.find('h')?.tokenClass).toBeUndefined()
    tokens.accept('h', 'opaque')
    await clock.advance(ACCEPTED_TOKEN_MS * 0.6)
    tokens.accept('h', 'opaque')
    await clock.advance(ACCEPTED_TOKEN_MS - 1)
    expect(tokens.find('h')?.tokenClass).toBe('token')
    await clock.advance(1)
    expect(tokens.find('h')?.tokenClass).toBeUndefined()
    tokens.accept('h', 'opaque')
    tokens.forget('h')
    expect(tokens.find('h')?.tokenClass).toBeUndefined()
  })

  it('knows a token again after a watch of it that lasted longer, but not one refused meanwhile', async () => {
    const clock = new ManualClock()
    const tokens = new AcceptedTokens(clock)
    const ends = ['kept', 'refused'].map((hash) => {
      tokens.accept(hash, hash)
      return tokens.hold(hash)
    })
    await clock.advance(ACCEPTED_TOKEN_MS * 3)
    tokens.forget('refused')
    for (const end of ends) end()
    expect([tokens.find('kept')?.tokenClass, tokens.find('refused')]).toEqual(['token', undefined])
    await clock.advance(ACCEPTED_TOKEN_MS)
    expect(tokens.find('kept')).toBeUndefined()
  })

  it('knows a token while a watch of it is open, for as long as API servers let one last', async () => {
    const clock = new ManualClock()
    const tokens = new AcceptedTokens(clock)
    tokens.accept('h', 'opaque')
    const [first, second] = [tokens.hold('h'), tokens.hold('h')]
    await clock.advance(ACCEPTED_TOKEN_MS * 2)
    expect(tokens.find('h')).toBeDefined()
    first()
    await clock.advance(ACCEPTED_TOKEN_MS * 2)
    expect(tokens.find('h')).toBeDefined()
    second()
    await clock.advance(ACCEPTED_TOKEN_MS - 1)
    expect(tokens.find('h')).toBeDefined()
    await clock.advance(1)
    expect(tokens.find('h')).toBeUndefined()
    tokens.accept('h', 'opaque')
    tokens.hold('h')
    await clock.advance(MAX_HELD_TOKEN_MS - 1)
    expect(tokens.find('h')).toBeDefined()
    await clock.advance(1)
    expect(tokens.find('h')).toBeUndefined()
  })

  it('forgets a token that is refused, whatever is open, and counts what opens after that anew', async () => {
    const clock = new ManualClock()
    const tokens = new AcceptedTokens(clock)
    tokens.hold('unknown')()
    expect(tokens.find('unknown')).toBeUndefined()
    tokens.accept('h', 'opaque')
    const old = tokens.hold('h')
    tokens.forget('h')
    expect(tokens.find('h')).toBeUndefined()
    tokens.accept('h', 'opaque')
    tokens.hold('h')
    await clock.advance(ACCEPTED_TOKEN_MS / 2)
    old()
    await clock.advance(ACCEPTED_TOKEN_MS)
    expect(tokens.find('h')).toBeDefined()
    tokens.forget('h')
    old()
    expect(tokens.find('h')).toBeUndefined()
  })

  it('keeps no more tokens for those that have a watch open', () => {
    const tokens = new AcceptedTokens(new ManualClock())
    for (let count = 0; count <= MAX_ACCEPTED_TOKENS; count += 1) {
      tokens.accept(`t${count}`, 'x')
      tokens.hold(`t${count}`)
    }
    expect([tokens.size, tokens.find('t0')]).toEqual([MAX_ACCEPTED_TOKENS, undefined])
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
    expect(tokens.find('h')?.tokenClass).toBe(expected)
  })

  it('forgets the one used longest ago where there are too many', async () => {
    const clock = new ManualClock()
    const tokens = new AcceptedTokens(clock)
    tokens.accept('old', 'x')
    tokens.accept('older', 'x')
    await clock.advance(ACCEPTED_TOKEN_MS * 0.6)
    tokens.accept('old', 'x')
    for (let count = 2; count <= MAX_ACCEPTED_TOKENS; count += 1) tokens.accept(`t${count}`, 'x')
    expect([tokens.size, tokens.find('older')?.tokenClass, tokens.find('old')?.tokenClass]).toEqual([
      MAX_ACCEPTED_TOKENS,
      undefined,
      'token',
    ])
  })
})

describe('the caller that an accepted token is', () => {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const [head, claims] = [encode({ alg: 'ES256' }), encode({ sub: 'jane', n: 1 })]
  // 64 bytes leave four bits of the last character unused, which no decoder looks at.
  const signature = Buffer.alloc(64, 7).toString('base64url')
  const spellings = ['w', 'x', 'y', 'z'].map((last) => `${head}.${claims}.${signature.slice(0, -1)}${last}`)
  const callerOf = (token: string): string => new AcceptedTokens(new ManualClock()).accept(token, token).key.name

  it('is one in all spellings of its parts', () => {
    expect(new Set(spellings.map(callerOf)).size).toBe(1)
    // Go's decoder reads the last character of every part so, and checks the signature of what it has read.
    const odd = `${claims.slice(0, -1)}1`
    expect(Buffer.from(odd, 'base64url')).toEqual(Buffer.from(claims, 'base64url'))
    expect(callerOf(`${head}.${odd}.${signature}`)).toBe(callerOf(spellings[0] ?? ''))
    expect(callerOf(`${head}.${encode({ sub: 'jane', n: 2 })}.${signature}`)).not.toBe(callerOf(spellings[0] ?? ''))
  })

  it('is the token itself where that is no JWT', () => {
    const opaque = ['opaque', 'a.b.c', 'a.b.d', `${head}.${claims}`, `${head}.${claims}.x.y`, `${head}.${claims}.x.z`]
    expect(new Set(opaque.map(callerOf)).size).toBe(opaque.length)
  })

  it('keeps one place, however it is spelled', () => {
    const tokens = new AcceptedTokens(new ManualClock())
    for (const token of spellings) tokens.accept(token, token)
    expect([tokens.size, spellings.map((token) => tokens.find(token) !== undefined)]).toEqual([
      1,
      [false, false, false, true],
    ])
    tokens.forget(spellings[3] ?? '')
    tokens.accept(spellings[0] ?? '', spellings[0] ?? '')
    expect(tokens.find(spellings[0] ?? '')).toBeDefined()
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
