import type { ClientHttp2Session } from 'node:http2'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MAX_UNPROVEN_REQUESTS } from '../../src/edge/endpoint/caller-limits.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import type { CertificatePair } from '../../src/identity/pair-file.ts'
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
} from './endpoint-world.ts'

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

  it('cannot hide a token by calling it a matter of the connection', async () => {
    const headers = { connection: 'authorization', authorization: 'Bearer made-up' }
    await world.http1({ path: '/x', headers })
    expect(world.upstream.last.headers.some(([name]) => name === 'authorization')).toBe(false)
    await world.http1({ path: '/x', headers: { authorization: 'Bearer made-up' } })
    expect(pools()).toEqual(['open', 'open'])
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

  it('are still who they were where a TLS session is resumed', async () => {
    const first = await world.raw({ ...keys(world.nodePair), maxVersion: 'TLSv1.2' })
    const session = first.getSession()
    first.destroy()
    if (session === undefined) throw new Error('the server gave no session')
    const second = await world.raw({ ...keys(world.nodePair), maxVersion: 'TLSv1.2', session })
    second.write('GET /resumed HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(second.isSessionReused()).toBe(true)
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
