import { Readable } from 'node:stream'
import { beforeEach, describe, expect, it } from 'vitest'
import { sourceOf } from '../../../test/worlds/byte-sources.ts'
import { ManualClock } from '../../runtime/clock.ts'
import type { UpstreamAnswer, UpstreamRequest } from '../upstream/upstream.ts'
import { ACCESS_REVIEW_MS, AccessReviews } from './access-reviews.ts'
import { nodeIdentity } from './identity.ts'
import { type Foreign, type Reader, Readers } from './readers.ts'
import { TokenReviews } from './token-review.ts'
import { type Access, Verdicts } from './verdicts.ts'

const listing: Access = {
  verb: 'list',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: '',
  labelSelector: '',
  fieldSelector: '',
}
const foreign: Foreign = { kind: 'foreign', why: 'it is no token of an account' }
const account = 'system:serviceaccount:shop:reader'
const holder = (token: string): Reader => ({ kind: 'token', pool: 'token', token, tokenHash: `hash of ${token}` })

/** Readers, and an API server that says of them what a test wants it to say. */
class World {
  readonly clock = new ManualClock()
  readonly verdicts = new Verdicts()
  readonly rejected: string[] = []
  readonly readers: Readers
  username = account
  isTaken = true
  isAllowed = true
  isGraceOver = false

  constructor() {
    const request = (asked: UpstreamRequest): Promise<UpstreamAnswer> => Promise.resolve(this.#answer(asked))
    const reviewing = { upstream: { request }, clock: this.clock, signal: new AbortController().signal }
    this.readers = new Readers({
      node: 'edge-1',
      reviews: new TokenReviews(reviewing),
      access: new AccessReviews(reviewing),
      verdicts: this.verdicts,
      rejected: (token) => this.rejected.push(token),
      recognise: () => Promise.resolve(foreign),
      isGraceOver: () => this.isGraceOver,
    })
  }

  #answer({ target }: UpstreamRequest): UpstreamAnswer {
    const isOfToken = target.endsWith('tokenreviews')
    const status = isOfToken
      ? { authenticated: this.isTaken, user: { username: this.username, uid: '1' } }
      : { allowed: this.isAllowed }
    const code = this.isTaken || isOfToken ? 201 : 401
    const body = sourceOf(Readable.from([Buffer.from(JSON.stringify({ status }))]))
    return { status: code, headers: [], body, trailers: () => [] }
  }
}

describe('readers', () => {
  let world: World
  let readers: Readers
  beforeEach(() => {
    world = new World()
    readers = world.readers
  })

  const verdictOf = (reader: Reader) => {
    const identity = readers.known(reader)
    return identity && readers.verdictOf(identity, listing)
  }

  it('lose by a review what it denies, so that nobody has it again offline', async () => {
    const reader = holder('a')
    await readers.admit(reader, listing)
    expect(verdictOf(reader)).toBe('allowed')
    world.isAllowed = false
    await world.clock.advance(ACCESS_REVIEW_MS)
    expect(await readers.review(reader, listing)).toBe('denied')
    expect(verdictOf(reader)).toBe('denied')
  })

  it('are strangers once a review finds that their token is not taken any more', async () => {
    const reader = holder('a')
    await readers.admit(reader, listing)
    world.isTaken = false
    await world.clock.advance(ACCESS_REVIEW_MS)
    expect(await readers.review(reader, listing)).toBe('rejected')
    expect(readers.known(reader)).toBeUndefined()
    expect(world.rejected).toEqual(['a'])
    expect((await readers.recognise(reader)).kind).toBe('rejected')
    expect(await readers.identify(reader)).toBeUndefined()
  })

  it('with tokens of one account share what is known of it', async () => {
    await readers.admit(holder('a'), listing)
    await readers.identify(holder('b'))
    expect(verdictOf(holder('b'))).toBe('allowed')
  })

  it('with tokens that are no account’s share nothing, and are known for as long as the grace lasts', async () => {
    world.username = 'jane'
    await readers.admit(holder('a'), listing)
    await readers.identify(holder('b'))
    expect([verdictOf(holder('a')), verdictOf(holder('b'))]).toEqual(['allowed', undefined])
    expect((await readers.recognise(holder('a'))).kind).toBe('known')
    world.isGraceOver = true
    expect((await readers.recognise(holder('a'))).kind).toBe('rejected')
  })

  it('count for themselves, and nobody but the node for nobody', async () => {
    const node: Reader = { kind: 'node', pool: 'node', token: undefined, tokenHash: '' }
    const nobody: Reader = { ...node, kind: 'anonymous', pool: 'open' }
    expect([readers.accountOf(node), readers.accountOf(nobody)]).toEqual(['', 'anonymous'])
    expect(readers.accountOf(holder('a'))).toBe('hash of a')
    const identity = await readers.identify(holder('a'))
    expect(readers.accountOf(holder('a'))).toBe(identity?.key)
    expect((await readers.identify(node))?.key).toBe(nodeIdentity('edge-1').key)
  })
})
