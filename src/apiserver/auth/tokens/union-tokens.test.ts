import { describe, expect, it } from 'vitest'
import { type Exchange, RequestHeaders } from '../../../http/server/exchange.ts'
import type { UserInfo } from '../../request/user.ts'
import type { TokenAuthentication, TokenAuthenticator } from './token-authenticator.ts'
import { reviewToken } from './token-review.ts'
import { ApiTokenAuthenticator, BearerAuthenticator, UnionTokenAuthenticator } from './union-tokens.ts'

const apiAudiences = ['api']
const ann: UserInfo = { name: 'ann', uid: '7', groups: ['staff'], extra: { shoe: ['42'] } }

function says(answer: TokenAuthentication): TokenAuthenticator {
  return { authenticateToken: () => Promise.resolve(answer) }
}

const known = says({ outcome: 'known', user: ann, audiences: ['api'] })
const absent = says({ outcome: 'absent' })
const wrong = (...reasons: string[]) => says({ outcome: 'wrong', reasons })

const review = (tokens: TokenAuthenticator, spec: object, more: object = {}) =>
  reviewToken({ kind: 'TokenReview', ...more, spec }, tokens, apiAudiences)

describe('UnionTokenAuthenticator', () => {
  it('asks on until somebody knows the token', async () => {
    const union = new UnionTokenAuthenticator([absent, wrong('old'), known, wrong('never asked')])
    expect(await union.authenticateToken('t', apiAudiences)).toMatchObject({ outcome: 'known', user: ann })
  })

  it('tells all reasons, or that nobody claims the token', async () => {
    const union = new UnionTokenAuthenticator([wrong('old'), absent, wrong('torn', 'wet')])
    expect(await union.authenticateToken('t', [])).toEqual({ outcome: 'wrong', reasons: ['old', 'torn', 'wet'] })
    expect(await new UnionTokenAuthenticator([absent]).authenticateToken('t', [])).toEqual({ outcome: 'absent' })
  })
})

describe('ApiTokenAuthenticator', () => {
  const tokens = new ApiTokenAuthenticator((token) => (token === 'secret' ? ann : undefined), ['api', 'api-2'])

  it('knows its tokens for the audiences of the API server only', async () => {
    const answer = { outcome: 'known', user: ann, audiences: ['api-2', 'api'] }
    expect(await tokens.authenticateToken('secret', ['api-2', 'x', 'api'])).toEqual(answer)
    expect(await tokens.authenticateToken('secret', ['x'])).toEqual({ outcome: 'absent' })
    expect(await tokens.authenticateToken('other', ['api'])).toEqual({ outcome: 'absent' })
  })
})

describe('BearerAuthenticator', () => {
  const ask = (tokens: TokenAuthenticator, authorization?: string) => {
    const headers = new RequestHeaders(authorization === undefined ? [] : [['authorization', authorization]])
    return new BearerAuthenticator(tokens, apiAudiences).authenticate({ headers } as Exchange)
  }

  it('has nothing to say to a request without a token', async () => {
    expect(await ask(known)).toEqual({ outcome: 'absent' })
    expect(await ask(known, 'Basic eDp5')).toEqual({ outcome: 'absent' })
  })

  it('turns away a token that nobody knows', async () => {
    expect(await ask(known, 'Bearer t')).toEqual({ outcome: 'known', user: ann })
    expect(await ask(absent, 'Bearer t')).toEqual({ outcome: 'wrong', reason: 'invalid bearer token' })
    expect(await ask(wrong('old'), 'Bearer t')).toEqual({ outcome: 'wrong', reason: '[invalid bearer token, old]' })
  })
})

describe('reviewToken', () => {
  it('tells the user, its groups as after logging in, and the audiences', async () => {
    const user = { username: 'ann', uid: '7', groups: ['staff', 'system:authenticated'], extra: { shoe: ['42'] } }
    expect(await review(known, { token: 't' }, { metadata: { name: 'n', namespace: 'gone' } })).toEqual({
      kind: 'TokenReview',
      metadata: { name: 'n' },
      spec: { token: 't' },
      status: { authenticated: true, user, audiences: ['api'] },
    })
  })

  it('tells why not, whatever status the client sent', async () => {
    const sent = { status: { authenticated: true, user: { username: 'root' } } }
    expect(await review(wrong('old'), { token: 't' }, sent)).toHaveProperty('status', {
      user: {},
      error: '[invalid bearer token, old]',
    })
  })

  it('asks for the audiences of the API server unless told others', async () => {
    const asked: (readonly string[])[] = []
    const spy: TokenAuthenticator = {
      authenticateToken: (_token, audiences) => {
        asked.push(audiences)
        return Promise.resolve({ outcome: 'absent' })
      },
    }
    await review(spy, { token: 't' })
    await review(spy, { token: 't', audiences: [] })
    await review(spy, { token: 't', audiences: ['x'] })
    expect(asked).toEqual([['api'], ['api'], ['x']])
  })

  it.each([{}, { token: '' }])('refuses a review of nothing: %j', async (spec) => {
    await expect(review(known, spec)).rejects.toMatchObject({
      code: 400,
      message: 'token is required for TokenReview in authentication',
    })
  })
})
