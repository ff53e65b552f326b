import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ACCEPTED_TOKEN_MS } from '../../../src/edge/endpoint/accepted-tokens.ts'
import { MAX_UNPROVEN_REQUESTS } from '../../../src/edge/endpoint/caller-limits.ts'
import type { UpstreamAnswer } from '../../../src/edge/upstream/upstream.ts'
import { userName } from '../../../src/identity/distinguished-name.ts'
import { nodeSubject } from '../../../src/identity/node-name.ts'
import type { CertificatePair } from '../../../src/identity/pair-file.ts'
import { ManualClock, systemClock } from '../../../src/runtime/clock.ts'
import {
  answer,
  askHttp2,
  createCa,
  type EndpointWorld,
  FakeUpstream,
  issuePair,
  keys,
  NODE,
  startEndpoint,
  text,
} from '../../worlds/endpoint-world.ts'

describe('callers of the endpoint', () => {
  let world: EndpointWorld
  const sessions: ClientHttp2Session[] = []

  beforeAll(async () => {
    world = await startEndpoint()
  })

  beforeEach(() => {
    world.upstream.requests.length = 0
    world.upstream.handle = new FakeUpstream().handle
  })

  afterAll(async () => {
    for (const session of sessions) session.destroy()
    await world.stop()
  })

  const http2With = (pair: CertificatePair | undefined): ClientHttp2Session => {
    const session = world.http2(pair === undefined ? {} : keys(pair))
    sessions.push(session)
    return session
  }

  const pools = (): string[] => world.upstream.requests.map(({ pool }) => pool)
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  it('go up on connections of their own kind: the node, accepted tokens, everybody else', async () => {
    const node = http2With(world.nodePair)
    const pods = http2With(undefined)
    await askHttp2(node, { ':path': '/1' })
    await askHttp2(pods, { ':path': '/2' })
    await askHttp2(pods, { ':path': '/3', ...bearer('a') })
    await askHttp2(pods, { ':path': '/4', authorization: 'bearer a' })
    await askHttp2(pods, { ':path': '/5', authorization: 'Basic YTpi' })
    await askHttp2(node, { ':path': '/6' })
    await askHttp2(pods, { ':path': '/7' })
    expect(pools()).toEqual(['node', 'open', 'open', 'token', 'open', 'node', 'open'])
    expect(world.upstream.requests[3]?.headers).toContainEqual(['authorization', 'bearer a'])
    expect(world.upstream.requests[6]?.headers.some(([name]) => name === 'authorization')).toBe(false)
  })

  it('fall back among the unproven with a 401, and are proven by no answer given before authentication', async () => {
    const pods = http2With(undefined)
    for (const status of [401, 503, 429, 500, 401, 403, 200, 401, 200]) {
      world.upstream.handle = () => answer(status, [], '')
      await askHttp2(pods, { ':path': '/x', ...bearer('b') })
    }
    expect(pools()).toEqual(['open', 'open', 'open', 'open', 'open', 'open', 'token', 'token', 'open'])
    world.upstream.handle = () => answer(204, [], '')
    await askHttp2(pods, { ':path': '/x', ':method': 'OPTIONS', ...bearer('c') })
    await askHttp2(pods, { ':path': '/x', ...bearer('c') })
    expect(pools().slice(-2)).toEqual(['open', 'open'])
  })

  it('who present a token beside the certificate of the node are refused, in any spelling', async () => {
    const node = http2With(world.nodePair)
    for (const authorization of ['Bearer x', 'bearer x', 'Basic x', '']) {
      const { headers, body } = await askHttp2(node, { ':path': '/x', authorization })
      expect(headers[':status']).toBe(401)
      expect(JSON.parse(body)).toMatchObject({
        reason: 'Unauthorized',
        message: expect.stringContaining('one or the other'),
      })
    }
    expect(pools()).toEqual([])
  })

  it('cannot call a matter of the connection what says who they are, and for whom they ask', async () => {
    const node = keys(world.nodePair)
    for (const connection of ['authorization', 'Impersonate-User', 'close, content-type', 'x-remote-user'])
      for (const who of [{}, node]) {
        const headers = { connection, authorization: 'Bearer made-up', 'impersonate-user': 'jane' }
        const { status, body } = await world.http1({ path: '/x', headers, ...who })
        expect([connection, status, JSON.parse(body).reason]).toEqual([connection, 400, 'BadRequest'])
      }
    expect(pools()).toEqual([])
  })

  it('are one caller for the limits, however they spell the signature of their token', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const said = `${part({ alg: 'ES256' })}.${part({ sub: 'system:serviceaccount:default:pod' })}`
    const signature = Buffer.alloc(64).toString('base64url').slice(0, -1)
    const spellings = 'ABCDEFGHIJKLMNOP'.split('').map((last) => `${said}.${signature}${last}`)
    const pods = http2With(undefined)
    const held: (() => void)[] = []
    for (const token of spellings) await askHttp2(pods, { ':path': '/x', ...bearer(token) })
    world.upstream.handle = () => new Promise((resolve) => held.push(() => resolve(answer(200, [], ''))))
    const waiting = spellings.map((token) => askHttp2(pods, { ':path': '/held', ...bearer(token) }))
    await expect.poll(() => held.length).toBe(spellings.length)
    // All but the last spelling are new again, for only one is remembered: they count for their address until answered.
    expect([world.endpoint.status.clients, pools().slice(-1)]).toEqual([2, ['token']])
    for (const release of held) release()
    await Promise.all(waiting)
  })

  it('with a new token hold no place of new ones for the length of a watch', async () => {
    const pods = http2With(undefined)
    world.upstream.handle = () => answer(200, [], new PassThrough())
    const watch = (token: string) =>
      pods.request({ ':path': '/api/v1/pods?watch=1', ...bearer(token) }).on('error', () => {})
    const watches = Array.from({ length: MAX_UNPROVEN_REQUESTS }, (_, index) => watch(`new-${index}`))
    await Promise.all(watches.map((stream) => once(stream, 'response')))
    watches.push(watch('late'))
    const [late] = await once(watches.at(-1) as ClientHttp2Stream, 'response')
    expect(late[':status']).toBe(200)
    for (const stream of watches) stream.close(constants.NGHTTP2_CANCEL)
    await expect.poll(() => world.endpoint.status.requests.long).toBe(0)
  })

  it('with a token that is known here are known by it, though the API server was asked for nothing', async () => {
    const held = (): UpstreamAnswer => ({ ...answer(200, [], new PassThrough()), isLocal: true })
    const local = await startEndpoint({ replica: { answer: () => Promise.resolve(held()) } })
    const pods = local.http2({})
    const watch = (token: string) =>
      pods.request({ ':path': '/api/v1/pods?watch=1', ...bearer(token) }).on('error', () => {})
    const watches = Array.from({ length: MAX_UNPROVEN_REQUESTS }, (_, index) => watch(`known-${index}`))
    await Promise.all(watches.map((stream) => once(stream, 'response')))
    const [late] = await once(watch('late'), 'response')
    expect([late[':status'], local.upstream.requests]).toEqual([200, []])
    pods.destroy()
    await local.stop()
  })

  it('with another certificate than that of the node are refused, whatever else they send', async () => {
    const otherCa = await createCa('kubernetes')
    const wrong = {
      'another node': await issuePair(world.ca, nodeSubject('edge-2'), 'clientAuth'),
      'a person': await issuePair(world.ca, userName('admin', ['system:masters']), 'clientAuth'),
      'the node without its group': await issuePair(
        world.ca,
        userName(`system:node:${NODE}`, ['system:masters']),
        'clientAuth',
      ),
      'a server': await issuePair(world.ca, nodeSubject(NODE), 'serverAuth'),
      'another CA of the same name': await issuePair(otherCa, nodeSubject(NODE), 'clientAuth'),
    }
    for (const [name, pair] of Object.entries(wrong)) {
      const session = http2With(pair)
      for (const more of [{}, bearer('a')]) {
        const { headers, body } = await askHttp2(session, { ':path': '/api/v1/secrets', ...more })
        expect([name, headers[':status']]).toEqual([name, 401])
        expect(JSON.parse(body).message).toContain(`only the client certificate of node ${NODE}`)
      }
    }
    expect(pools()).toEqual([])
  })

  it('prove themselves again where they would resume a TLS session', async () => {
    const first = await world.raw({ ...keys(world.nodePair), maxVersion: 'TLSv1.2' })
    const session = first.getSession()
    first.destroy()
    if (session === undefined) throw new Error('the server gave no session')
    const second = await world.raw({ ...keys(world.nodePair), maxVersion: 'TLSv1.2', session })
    second.write('GET /resumed HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(second.isSessionReused()).toBe(false)
    expect(await text(second)).toMatch(/^HTTP\/1.1 200 OK/)
    expect(pools()).toEqual(['node'])
  })

  it('without proof share the allowance of their address, and nobody else notices', async () => {
    const pods = http2With(undefined)
    const proven = http2With(undefined)
    await askHttp2(proven, { ':path': '/x', ...bearer('good') })
    const fresh = new FakeUpstream()
    const held: (() => void)[] = []
    world.upstream.handle = (request) =>
      request.target === '/held'
        ? new Promise((resolve) => held.push(() => resolve(answer(200, [], ''))))
        : fresh.handle(request)
    const waiting = Array.from({ length: MAX_UNPROVEN_REQUESTS }, (_, index) =>
      askHttp2(pods, { ':path': '/held', ...bearer(`bad-${index}`) }),
    )
    await expect.poll(() => held.length).toBe(MAX_UNPROVEN_REQUESTS)
    const refused = await askHttp2(pods, { ':path': '/x', ...bearer('bad') })
    expect([refused.headers[':status'], refused.headers['retry-after']]).toEqual([429, '1'])
    expect(JSON.parse(refused.body)).toMatchObject({ reason: 'TooManyRequests', code: 429 })
    expect((await askHttp2(proven, { ':path': '/x', ...bearer('good') })).headers[':status']).toBe(200)
    for (const release of held) release()
    await Promise.all(waiting)
    expect((await askHttp2(pods, { ':path': '/x', ...bearer('bad') })).headers[':status']).toBe(200)
  })
})

describe('a token whose watch lasts longer than it is remembered', () => {
  it('is still known while the watch is open, and when it has ended', async () => {
    const clock = new ManualClock(systemClock.nowMs())
    const world = await startEndpoint({ clock })
    const body = new PassThrough()
    const fresh = new FakeUpstream()
    world.upstream.handle = (request) =>
      request.target.includes('watch') ? answer(200, [], body) : fresh.handle(request)
    const headers = { authorization: 'Bearer t' }
    const watch = world.http1({ path: '/api/v1/pods?watch=1', headers })
    await expect.poll(() => world.endpoint.status.requests.long).toBe(1)
    await expect.poll(() => body.listenerCount('data')).toBe(1)
    await clock.advance(ACCEPTED_TOKEN_MS * 2)
    await world.http1({ path: '/x', headers })
    await clock.advance(ACCEPTED_TOKEN_MS * 2)
    body.end()
    await watch
    await world.http1({ path: '/x', headers })
    await clock.advance(ACCEPTED_TOKEN_MS)
    await world.http1({ path: '/x', headers })
    expect(world.upstream.requests.map(({ pool }) => pool)).toEqual(['open', 'token', 'token', 'open'])
    await world.stop()
  })
})
