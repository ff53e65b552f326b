/** Noise: pieces of requests in any order and number. Whatever comes, the others are served, and nothing ends the process. */
import type { ClientHttp2Session } from 'node:http2'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bearer, keys, whoAmI } from './endpoint-asking.ts'
import { FLAG, FRAME, frame, headersFrame, PREFACE, requestHead, resetFrame } from './endpoint-frames.ts'
import { AttackWorld, type ClientOptions } from './endpoint-world.ts'

let world: AttackWorld
let pod: string
let others: ClientHttp2Session
beforeAll(async () => {
  world = await AttackWorld.start()
  pod = await world.readerToken('pod')
  others = world.http2()
})
afterAll(() => world.stop())

const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS')
const target = fc.constantFrom(
  '/version',
  '/api/v1/pods',
  '/api/v1/services?watch=1',
  '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  '/api/v1/namespaces/default/pods/p/exec?command=x',
)
const header = fc.constantFrom<[string, string]>(
  ['authorization', 'Bearer made-up'],
  ['authorization', 'pod'],
  ['content-type', 'application/json'],
  ['expect', '100-continue'],
  ['trailer', 'x'],
  ['te', 'trailers'],
  ['user-agent', 'kubelet/v1'],
  ['accept-encoding', 'gzip'],
  ['content-encoding', 'gzip'],
)
const head = fc.record({ method, target, headers: fc.array(header, { maxLength: 4 }) })
const withToken = ([name, value]: [string, string]): [string, string] => [
  name,
  value === 'pod' ? `Bearer ${pod}` : value,
]

/** From an address of its own each time, so that nobody pays for what another has spent. */
let addresses = 0
const caller = (isNode: boolean): ClientOptions => ({
  localAddress: `127.1.${(addresses >> 8) & 255}.${addresses++ & 255}`,
  ...(isNode ? keys(world.nodePair) : {}),
})

async function expectOthersServed(): Promise<void> {
  expect(await whoAmI(others)).toBe('system:anonymous')
  expect(await whoAmI(others, bearer(pod))).toBe('system:serviceaccount:default:pod')
}

it('frames of HTTP/2', async () => {
  const stream = fc.integer({ min: 0, max: 4 }).map((number) => number * 2 + 1)
  const piece = fc.oneof(
    fc.tuple(stream, head, fc.boolean()).map(
      ([id, { method: verb, target: path, headers }, ends]) =>
        () =>
          headersFrame(
            id,
            [...requestHead(verb, path), ...headers.map(withToken)],
            FLAG.endHeaders | (ends ? FLAG.endStream : 0),
          ),
    ),
    fc.tuple(stream, fc.string(), fc.boolean()).map(
      ([id, text, ends]) =>
        () =>
          frame(FRAME.data, ends ? 1 : 0, id, Buffer.from(text)),
    ),
    fc.tuple(stream, fc.nat(13)).map(
      ([id, code]) =>
        () =>
          resetFrame(id, code),
    ),
    stream.map(
      (id) => () =>
        headersFrame(
          id,
          [
            ['x-trailer', 'a'],
            ['content-type', 'b'],
          ],
          FLAG.endHeaders | FLAG.endStream,
        ),
    ),
    fc.tuple(fc.nat(11), fc.nat(255), fc.nat(9), fc.uint8Array({ maxLength: 32 })).map(
      ([type, flags, id, bytes]) =>
        () =>
          frame(type, flags, id, Buffer.from(bytes)),
    ),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 12 }),
      fc.boolean(),
      fc.boolean(),
      async (pieces, isNode, isPaused) => {
        const socket = await world.raw({ ALPNProtocols: ['h2'], ...caller(isNode) })
        if (!isPaused) socket.resume()
        socket.write(Buffer.concat([PREFACE, ...pieces.map((make) => make())]))
        await expectOthersServed()
        socket.destroy()
      },
    ),
    { numRuns: 30 },
  )
})

it('requests of HTTP/1.1, one behind the other', async () => {
  const framing = fc.constantFrom(
    '\r\n',
    'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 2\r\n\r\n{}',
    'Content-Length: 2\r\n\r\n{}',
    'Content-Length: 2000\r\n\r\n{}',
    'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nTE: x\r\nConnection: y\r\nx: z\r\n\r\n',
    'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz',
  )
  const request = fc.tuple(head, framing, fc.constantFrom('1.0', '1.1'))
  const cut = fc.option(fc.nat(400))
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 5 }), cut, fc.boolean(), async (requests, end, isNode) => {
      const texts = requests.map(([{ method: verb, target: path, headers }, rest, version]) => {
        const lines = headers.map(withToken).map(([name, value]) => `${name}: ${value}\r\n`)
        return `${verb} ${path} HTTP/${version}\r\nHost: x\r\n${lines.join('')}${rest}`
      })
      const socket = await world.raw(caller(isNode))
      socket.resume()
      socket.write(texts.join('').slice(0, end ?? undefined))
      await expectOthersServed()
      socket.destroy()
    }),
    { numRuns: 30 },
  )
})
