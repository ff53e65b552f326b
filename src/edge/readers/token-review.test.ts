import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { sourceOf, streamOf } from '../../../test/worlds/byte-sources.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { type UpstreamAnswer, UpstreamError, type UpstreamRequest } from '../upstream/upstream.ts'
import { MAX_REVIEW_BYTES, REVIEW_TIMEOUT_MS } from './review-request.ts'
import { MAX_TOKEN_REVIEWS, TOKEN_REVIEW_MS, TokenReviews } from './token-review.ts'

function world() {
  const clock = new ManualClock()
  const asked: UpstreamRequest[] = []
  const ended = new AbortController()
  const server = { isSilent: false, answer: (): { status: number; text: string } => reviewed(true, 'jane') }
  const request = (asking: UpstreamRequest): Promise<UpstreamAnswer> => {
    asked.push(asking)
    const { signal } = asking
    if (server.isSilent)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    try {
      const { status, text } = server.answer()
      return Promise.resolve({
        status,
        headers: [],
        body: sourceOf(Readable.from([Buffer.from(text)])),
        trailers: () => [],
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }
  const reviews = new TokenReviews({ upstream: { request }, clock, signal: ended.signal })
  return { clock, asked, server, reviews, ended }
}

function reviewed(authenticated: unknown, username: unknown): { status: number; text: string } {
  return { status: 201, text: JSON.stringify({ status: { authenticated, user: { username } } }) }
}

describe('TokenReviews', () => {
  it('asks under the certificate of the node, once for all who ask, and again after a while', async () => {
    const { clock, asked, reviews } = world()
    const both = await Promise.all([reviews.userOf('secret', 'h'), reviews.userOf('secret', 'h')])
    expect(both).toEqual(['jane', 'jane'])
    expect(asked).toHaveLength(1)
    const [first] = asked
    expect([first?.pool, first?.method, first?.target]).toEqual([
      'node',
      'POST',
      '/apis/authentication.k8s.io/v1/tokenreviews',
    ])
    let sent = ''
    for await (const chunk of streamOf(first?.body)) sent += String(chunk)
    expect(JSON.parse(sent)).toMatchObject({ kind: 'TokenReview', spec: { token: 'secret' } })
    await clock.advance(TOKEN_REVIEW_MS)
    await reviews.userOf('secret', 'h')
    expect(asked).toHaveLength(2)
  })

  it.each([
    ['a token that is none', reviewed(false, 'jane')],
    ['a user without a name', reviewed(true, '')],
    ['a name that is none', reviewed(true, 7)],
  ])('knows nobody for %s, and remembers it', async (_name, answer) => {
    const { asked, server, reviews } = world()
    server.answer = () => answer
    expect(await reviews.userOf('t', 'h')).toBeUndefined()
    expect(await reviews.userOf('t', 'h')).toBeUndefined()
    expect(asked).toHaveLength(1)
  })

  it.each([
    ['a refusal', () => ({ status: 403, text: '{}' })],
    ['an answer that is none', () => ({ status: 201, text: '<html>' })],
    ['an answer without end', () => ({ status: 201, text: ' '.repeat(MAX_REVIEW_BYTES + 1) })],
    [
      'no link',
      () => {
        throw new UpstreamError('offline', 'the tide is in')
      },
    ],
  ])('knows nobody after %s, and asks again', async (_name, answer) => {
    const { asked, server, reviews } = world()
    const good = server.answer
    server.answer = answer
    expect(await reviews.userOf('t', 'h')).toBeUndefined()
    server.answer = good
    expect(await reviews.userOf('t', 'h')).toBe('jane')
    expect(asked).toHaveLength(2)
  })

  it('gives up after a while, leaves no timer behind, and asks again', async () => {
    const { clock, asked, reviews, server } = world()
    server.isSilent = true
    const user = reviews.userOf('t', 'h')
    await clock.advance(REVIEW_TIMEOUT_MS)
    expect(await user).toBeUndefined()
    server.isSilent = false
    expect([await reviews.userOf('t', 'h'), asked.length, clock.pending]).toEqual(['jane', 2, 0])
  })

  it('ends with the endpoint', async () => {
    const { reviews, server, ended } = world()
    server.isSilent = true
    const user = reviews.userOf('t', 'h')
    ended.abort(new Error('the endpoint ends'))
    expect(await user).toBeUndefined()
  })

  it('remembers no more than so many', async () => {
    const { asked, reviews } = world()
    for (let count = 0; count <= MAX_TOKEN_REVIEWS; count += 1) await reviews.userOf('t', `h${count}`)
    await reviews.userOf('t', `h${MAX_TOKEN_REVIEWS}`)
    expect(asked).toHaveLength(MAX_TOKEN_REVIEWS + 1)
    await reviews.userOf('t', 'h0')
    expect(asked).toHaveLength(MAX_TOKEN_REVIEWS + 2)
  })
})
