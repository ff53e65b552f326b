/** Requests that two readers could read differently: the endpoint and the API server never do. */

import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UpstreamAnswer, UpstreamRequest } from '../../src/edge/upstream/upstream.ts'
import { BytesSource } from '../../src/http/body/bytes-source.ts'
import { streamOf } from '../worlds/byte-sources.ts'
import { ask, bearer, keys, whoAmI } from './endpoint-asking.ts'
import { FLAG, FRAME, frame, headersFrame, onFrames, PREFACE, requestHead } from './endpoint-frames.ts'
import { AttackWorld, NODE } from './endpoint-world.ts'

let world: AttackWorld
let pod: string
beforeAll(async () => {
  world = await AttackWorld.start()
  pod = await world.token('pod')
})
afterAll(() => world.stop())

const head = (line: string, ...headers: string[]): string =>
  [line, 'Host: x', 'Connection: close', ...headers, '', ''].join('\r\n')

const codes = (said: string): number[] => [...said.matchAll(/^HTTP\/1.1 (\d+) /gm)].map(([, code]) => Number(code))

/** The code and the user whom the API server names, of one request by HTTP/1.1 that nobody but admins may make. */
async function refusal(...headers: string[]): Promise<string> {
  const said = await world.say(Buffer.from(head('GET /api/v1/secrets HTTP/1.1', ...headers), 'latin1'))
  const user = /User \\"([^\\]*)\\"/.exec(said)?.[1] ?? ''
  return `${codes(said)[0]} ${user}`.trim()
}

describe('header injection', () => {
  const anonymous = '403 system:anonymous'
  const thePod = '403 system:serviceaccount:default:pod'

  it.each([
    ['X-A: b\r\nX-Remote-User: kubernetes-admin\r\nX-Remote-Group: system:masters', anonymous],
    ['x-REMOTE-user: kubernetes-admin', anonymous],
    ['X-A: b\rX-Remote-User: kubernetes-admin', '400'],
    ['X-A: b\nX-Remote-User: kubernetes-admin', '400'],
    ['X-A: b\0', '400'],
    ['X-A: b\r\n X-Remote-User: kubernetes-admin', '400'],
    ['X-Remote-User : kubernetes-admin', '400'],
  ])('%j', async (lines, expected) => {
    expect(await refusal(lines)).toBe(expected)
  })

  it('headers that are called a matter of the connection', async () => {
    const token = `Authorization: Bearer ${pod}`
    expect(await refusal(token)).toBe(thePod)
    for (const named of ['authorization', 'AUTHORIZATION', 'x, Authorization ,y', 'close,authorization'])
      expect(await refusal(token, `Connection: ${named}`)).toBe('400')
    // Without them the request would run with other rights than the caller asked for.
    for (const named of ['impersonate-user', 'Impersonate-Group', 'content-length', 'host', 'x-remote-user'])
      expect(await refusal(token, 'Impersonate-User: a', `Connection: te, ${named}`)).toBe('400')
    expect(await refusal('X-Mine: a', 'Connection: x-mine, connection, te')).toBe(anonymous)
  })

  it('more than one Authorization', async () => {
    const token = `Authorization: Bearer ${pod}`
    for (const second of ['Authorization: Bearer made-up', 'authorization: Basic YTpi', token])
      expect(await refusal(token, second)).toBe('400')
  })

  it('names that mean something to JavaScript', async () => {
    expect(await refusal('__proto__: x', 'constructor: y', 'constructor: z', 'toString: a')).toBe(anonymous)
    expect(await whoAmI(world.http2(), { __proto__x: 'y', constructor: ['a', 'b'] })).toBe('system:anonymous')
  })
})

describe('a client that claims to come from elsewhere', () => {
  const seen: UpstreamRequest[] = []
  const take = async (request: UpstreamRequest): Promise<UpstreamAnswer> => {
    seen.push(request)
    // Its trailers are there once it has ended.
    if (request.body !== undefined) await buffer(streamOf(request.body))
    return { status: 200, headers: [], body: new BytesSource(Buffer.alloc(0)), trailers: () => [] }
  }
  let watched: AttackWorld
  beforeAll(async () => {
    watched = await AttackWorld.start({
      upstream: { status: { pools: [], upgrades: 0 }, request: take, upgrade: take },
    })
  })
  afterAll(() => watched.stop())

  it.each([
    'X-Forwarded-For: 203.0.113.7',
    'X-Forwarded-For: 203.0.113.7, 203.0.113.8\r\nx-forwarded-for: 203.0.113.9',
    'X-REAL-IP: 203.0.113.7',
    'Forwarded: for=203.0.113.7;by=203.0.113.8',
    'Via: 1.1 203.0.113.7',
    'X-Forwarded-Host: 203.0.113.7\r\nX-Forwarded-Uri: /203.0.113.7',
    'X-Real-Ip: 203.0.113.7\r\nUpgrade: websocket\r\nConnection: upgrade, x-real-ip',
    'Transfer-Encoding: chunked\r\nTrailer: X-Forwarded-For\r\n\r\n0\r\nX-Forwarded-For: 203.0.113.7',
  ])('%j never reaches the audit log', async (lines) => {
    seen.length = 0
    expect(codes(await watched.say(head('POST /version HTTP/1.1', 'X-Passes: here', lines)))).toEqual([200])
    const sent = seen.flatMap(({ headers, trailers }) => [...headers, ...(trailers?.() ?? [])])
    expect(sent).toContainEqual(['x-passes', 'here'])
    expect(JSON.stringify(sent)).not.toContain('203.0.113')
  })

  it('by HTTP/2 neither', async () => {
    seen.length = 0
    const claims = { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7', 'x-passes': 'here' }
    expect((await ask(watched.http2(), { ':path': '/version', ...claims })).status).toBe(200)
    expect(seen.map(({ headers }) => headers)).toEqual([[['x-passes', 'here']]])
  })
})

describe('spellings of a made-up token', () => {
  const subprotocol = `Sec-WebSocket-Protocol: x, base64url.bearer.authorization.k8s.io.${Buffer.from('m').toString('base64url')}`

  it.each([
    'Authorization: Bearer m x',
    'Authorization: Bearer m\tx',
    'Authorization: Bearer\tm',
    'Authorization: Bearer  m',
    'Authorization: Bearer   m x',
    'Authorization: \xa0Bearer m',
    'Authorization: \xa0 Bearer m\xa0',
    'Authorization: Bearer',
    'Authorization: Basic bTpt',
    subprotocol,
    `${subprotocol}\r\nUpgrade: websocket`,
  ])('%j is never taken for one that was accepted', async (line) => {
    const asked = Buffer.from(head('GET /version HTTP/1.1', line), 'latin1')
    for (let round = 0; round < 2; round += 1) expect([200, 401]).toContain(codes(await fresh.say(asked))[0])
    expect((await ask(fresh.http2(), { ':path': '/version', ...bearer('m') })).status).toBe(401)
    expect(fresh.upstream.status.pools).toContainEqual(expect.objectContaining({ pool: 'token', connections: 0 }))
  })

  it('while a real one is', async () => {
    const token = await fresh.token('pod')
    for (let round = 0; round < 2; round += 1) await whoAmI(fresh.http2(), { authorization: `bEARER ${token}` })
    expect(fresh.upstream.status.pools).toContainEqual(expect.objectContaining({ pool: 'token', connections: 1 }))
  })

  let fresh: AttackWorld
  beforeAll(async () => {
    fresh = await AttackWorld.start()
  })
  afterAll(() => fresh.stop())
})

describe('targets', () => {
  it.each(['https://evil.example/version', 'http://127.0.0.1/version', '*', 'version', '/version#x'])(
    'no path at all: %s',
    async (target) => {
      for (const method of ['GET', 'OPTIONS'])
        expect(codes(await world.say(head(`${method} ${target} HTTP/1.1`)))).toEqual([400])
    },
  )

  it.each([
    '//version',
    '/./version',
    '/%2e/version',
    '/%2e%2e/version',
    '/../version',
    '/version/../api/v1/secrets',
    '/version%2f..%2fapi%2fv1%2fsecrets',
    '//api/v1/secrets',
    '/api/v1//secrets',
    '/api/v1/%73ecrets',
    '/API/v1/secrets',
  ])('a way around the rules for paths: %s', async (target) => {
    expect(codes(await world.say(head(`GET ${target} HTTP/1.1`)))).toEqual([403])
    expect((await ask(world.http2(), { ':path': target })).status).toBe(403)
  })

  it('an authority of the attacker’s choice', async () => {
    const evil = { ':authority': 'evil.example:1' }
    expect((await ask(world.http2(), { ':path': '/version', ...evil })).status).toBe(200)
    const tunnel = world.http2().request({ ':method': 'CONNECT', ...evil })
    tunnel.on('error', () => {})
    const [answered] = await new Promise<[Record<string, unknown>]>((resolve) =>
      tunnel.once('response', (...all) => resolve(all as never)),
    )
    expect(answered[':status']).toBe(400)
    expect(await world.say('CONNECT kubernetes:443 HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('')
    expect(codes(await world.say(head('GET /version HTTP/1.1', 'Host: evil.example')))).toEqual([200])
  })
})

describe('HTTP/1 smuggling', () => {
  const hidden = 'GET /version HTTP/1.1\r\nHost: x\r\n\r\n'
  const post = 'POST /version HTTP/1.1\r\nHost: x\r\n'

  it.each([
    ['CL.TE', 'Content-Length: 5\r\nTransfer-Encoding: chunked', `0\r\n\r\n${hidden}`],
    ['TE.CL', 'Transfer-Encoding: chunked\r\nContent-Length: 4', `5c\r\n${hidden}\r\n0\r\n\r\n`],
    ['TE.TE', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', `0\r\n\r\n${hidden}`],
    ['TE.TE in one line', 'Transfer-Encoding: chunked, identity', `0\r\n\r\n${hidden}`],
    ['TE with a tab', 'Transfer-Encoding:\x0bchunked\r\nContent-Length: 4', `0\r\n\r\n${hidden}`],
    ['two lengths', 'Content-Length: 0\r\nContent-Length: 38', hidden],
    ['a list of lengths', 'Content-Length: 0, 38', hidden],
    ['a length in hex', 'Content-Length: 0x10', hidden],
    ['bare LF after a header', 'X-A: b\nContent-Length: 38', hidden],
    ['obs-fold', 'X-A: b\r\n\tTransfer-Encoding: chunked', hidden],
    ['bare LF in a chunk size', 'Transfer-Encoding: chunked', `0\n\n${hidden}`],
    ['bare LF in a chunk extension', 'Transfer-Encoding: chunked', `1;a=\nb\r\nx\r\n0\r\n\r\n${hidden}`],
    ['a chunk size beyond all bounds', 'Transfer-Encoding: chunked', `fffffffffffffffff\r\n${hidden}`],
  ])('%s', async (_name, headers, rest) => {
    const answers = codes(await world.say(`${post}${headers}\r\n\r\n${rest}`))
    // What was refused may have been answered before: one answer each, and never the one to the request inside.
    expect(answers).not.toContain(200)
    expect(answers.at(-1)).toBe(400)
  })

  it('trailers that are no trailers', async () => {
    const trailers = [
      'Connection: close',
      'TE: gzip',
      'Transfer-Encoding: chunked',
      'Upgrade: x',
      'Keep-Alive: 1',
      'Authorization: Bearer x',
      'X-Remote-User: kubernetes-admin',
      'Content-Type: a\r\nContent-Type: b',
    ]
    for (const line of trailers) {
      const body = `5\r\nhello\r\n0\r\n${line}\r\n\r\n`
      const asked = head('POST /version HTTP/1.1', 'Transfer-Encoding: chunked', 'Trailer: x') + body
      const said = await world.say(asked)
      expect(said).toMatch(/^HTTP\/1.1 40[03] /)
      expect(said).not.toContain('kubernetes-admin')
    }
  })

  it('a request in the body of another by HTTP/2', async () => {
    const socket = await world.raw({ ALPNProtocols: ['h2'] })
    const ended: string[] = []
    onFrames(socket, (type, flags, stream) => {
      if (type === FRAME.reset || ((flags & FLAG.endStream) !== 0 && type < FRAME.priority))
        ended.push(`${type} ${stream}`)
    })
    const shorter = headersFrame(1, [...requestHead('POST', '/version'), ['content-length', '1']], FLAG.endHeaders)
    const mixed = headersFrame(
      3,
      [...requestHead('POST', '/version'), ['transfer-encoding', 'chunked']],
      FLAG.endHeaders,
    )
    socket.write(Buffer.concat([PREFACE, shorter, frame(FRAME.data, FLAG.endStream, 1, Buffer.from(hidden)), mixed]))
    await expect.poll(() => ended.toSorted()).toEqual([`${FRAME.reset} 1`, `${FRAME.reset} 3`])
    socket.destroy()
  })
})

describe('upgrades', () => {
  const upgrade = (protocol: string, ...headers: string[]): string =>
    ['GET /version HTTP/1.1', 'Host: x', 'Connection: Upgrade', `Upgrade: ${protocol}`, ...headers, '', ''].join('\r\n')
  const hidden = 'GET /api HTTP/1.1\r\nHost: x\r\n\r\n'

  it.each([
    ['to HTTP/2 in clear', upgrade('h2c', 'Connection: HTTP2-Settings', 'HTTP2-Settings: AAMAAABk'), [200]],
    ['with a request behind', upgrade('websocket') + hidden, [200]],
    ['behind a request that is still to be answered', hidden + upgrade('websocket'), []],
    ['with a length', upgrade('websocket', `Content-Length: ${hidden.length}`) + hidden, [400]],
    ['with chunks', `${upgrade('SPDY/3.1', 'Transfer-Encoding: chunked')}0\r\n\r\n${hidden}`, [400]],
    ['to two protocols', upgrade('h2c', 'Upgrade: websocket') + hidden, [200]],
    ['with trailers to come', upgrade('websocket', 'Trailer: x-a'), [200]],
    ['to a protocol without a name', upgrade('', 'Connection: close'), [200]],
  ])('%s', async (_name, bytes, answers) => {
    for (const options of [{}, keys(world.nodePair)]) expect(codes(await world.say(bytes, options))).toEqual(answers)
    await expect.poll(() => world.upstream.status.upgrades).toBe(0)
    expect(await whoAmI(world.http2())).toBe('system:anonymous')
    expect(await whoAmI(world.http2(keys(world.nodePair)))).toBe(`system:node:${NODE}`)
  })
})
