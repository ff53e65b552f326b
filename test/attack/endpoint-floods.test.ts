/** Who asks for too much is slowed or loses the connection, and nobody else notices. */
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configMaps } from '../../src/kube/index.ts'
import { ask, bearer, SELF_REVIEW, whoAmI } from './endpoint-asking.ts'
import { FLAG, FRAME, frame, headersFrame, onFrames, PREFACE, requestHead, resetFrame } from './endpoint-frames.ts'
import { AttackWorld } from './endpoint-world.ts'

let world: AttackWorld
let pod: string
let watch: Watch
beforeEach(async () => {
  world = await AttackWorld.start()
  pod = await world.readerToken('pod')
  watch = new Watch(world.http2(), pod)
  await watch.answered
})
afterEach(() => world.stop())

const watched = '/api/v1/configmaps?watch=1'
let made = 0

/** A watch of a client that has nothing to do with the attack. */
class Watch {
  readonly answered: Promise<number>
  readonly stream: ClientHttp2Stream
  #heard = ''

  constructor(session: ClientHttp2Session, token: string) {
    this.stream = session.request({ ':path': watched, ...bearer(token) })
    this.stream.on('error', () => {})
    this.stream.on('data', (chunk) => {
      this.#heard += String(chunk)
    })
    this.answered = once(this.stream, 'response').then(([head]) => Number(head[':status']))
  }

  hasHeardOf(name: string): boolean {
    return this.#heard.includes(`"name":"${name}"`)
  }
}

/** Others are served as if nothing were: a watch goes on, a known token and a new one are answered. */
async function expectOthersUnharmed(): Promise<void> {
  const elsewhere = { localAddress: '127.0.0.3' }
  expect((await ask(world.http2(), { ':path': '/api/v1/pods', ...bearer(pod) })).status).toBe(200)
  expect(await whoAmI(world.http2(elsewhere))).toBe('system:anonymous')
  const name = `made-${made++}`
  await world.admin.resource(configMaps).in('default').create({ metadata: { name } })
  await expect.poll(() => watch.hasHeardOf(name)).toBe(true)
  expect([watch.stream.closed, await watch.answered]).toEqual([false, 200])
}

/** Buffers that somebody still holds, without those that only wait to be collected. */
function heldBytes(): number {
  setFlagsFromString('--expose_gc')
  const collectGarbage = runInNewContext('gc') as () => void
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

describe('requests', () => {
  it('bad tokens in a loop beside a watch', async () => {
    const session = world.http2()
    const codes = new Set<number>()
    const delayed = () => world.metric('causeway_edge_endpoint_limited_total', 'delayed')
    // As many rounds as it takes: on a machine that stands still in between, what was spent comes back.
    for (let round = 0; round < 3 || !codes.has(429) || (await delayed()) === 0; round += 1) {
      const asked = Array.from({ length: 50 }, (_, index) =>
        ask(session, { ':path': '/api', ...bearer(`bad-${round}-${index}`) }),
      )
      for (const { status } of await Promise.all(asked)) codes.add(status)
      expect((await ask(session, { ':path': '/api/v1/pods', ...bearer(pod) })).status).toBe(200)
    }
    expect(codes).toEqual(new Set([401, 429]))
    await expectOthersUnharmed()
  })

  it('1,000 watches from one client', async () => {
    const greedy = await world.readerToken('greedy')
    const sessions = Array.from({ length: 5 }, () => world.http2())
    const watches = sessions.flatMap((session) => Array.from({ length: 200 }, () => new Watch(session, greedy)))
    const codes = await Promise.all(watches.map(({ answered }) => answered))
    expect(new Set(codes)).toEqual(new Set([200]))
    await expectOthersUnharmed()
    for (const session of sessions) session.destroy()
    await expect.poll(() => world.endpoint.status.requests.long).toBe(1)
    await expectOthersUnharmed()
  })

  it('watches with one token in all its spellings', async () => {
    const greedy = await world.readerToken('greedy')
    // A signature of ES256 leaves four bits of its last character unused: sixteen spellings, all of them good.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const first = alphabet.indexOf(greedy.at(-1) ?? '') & 0b110000
    const spellings = alphabet
      .slice(first, first + 16)
      .split('')
      .map((last) => greedy.slice(0, -1) + last)
    const session = world.http2()
    const watches = spellings.map((token) => new Watch(session, token))
    const codes = await Promise.all(watches.map(({ answered }) => answered))
    expect([spellings.includes(greedy), new Set(codes)]).toEqual([true, new Set([200])])
    // The pod of all these tests, and one more.
    await expect.poll(() => world.endpoint.status).toMatchObject({ clients: 2, requests: { long: 17 } })
    await expectOthersUnharmed()
  })

  it('requests one behind the other until the connection breaks', async () => {
    const said = await world.say('GET /version HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5_000))
    expect(said).not.toContain('500 Internal')
    // Those that were still to be answered must not count for their address for ever.
    await expect.poll(() => world.endpoint.status.requests.short).toBe(0)
    await expectOthersUnharmed()
    expect(await whoAmI(world.http2())).toBe('system:anonymous')
  })

  it('slow bodies', async () => {
    const slow = await world.token('slow')
    const session = world.http2()
    await whoAmI(session, bearer(slow))
    const head = { ':method': 'POST', ':path': SELF_REVIEW, 'content-type': 'application/json', ...bearer(slow) }
    const streams = Array.from({ length: 100 }, () => session.request(head))
    for (const stream of streams) stream.on('error', () => {}).write('{')
    await expect.poll(() => world.endpoint.status.requests.short).toBe(100)
    await expectOthersUnharmed()
    session.destroy()
    await expect.poll(() => world.endpoint.status.requests.short).toBe(0)
    await expect.poll(() => world.upstream.status.pools.map(({ streams: count }) => count)).toEqual([0, 1, 0])
  })

  it('large lists that nobody reads', async () => {
    const lazy = await world.readerToken('lazy')
    for (let count = 0; count < 10; count += 1) await world.makeLarge(`large-${count}`)
    const before = heldBytes()
    const session = world.http2()
    // Paused from the start: each takes what its window allows, and not a byte more.
    const streams = Array.from({ length: 40 }, () =>
      session.request({ ':path': '/api/v1/configmaps', ...bearer(lazy) }),
    )
    await Promise.all(
      streams.map((stream) =>
        once(
          stream.on('error', () => {}),
          'response',
        ),
      ),
    )
    await expectOthersUnharmed()
    // All of them together would be 360 MB.
    expect(heldBytes() - before).toBeLessThan(150_000_000)
    session.destroy()
    await expect.poll(() => world.endpoint.status.requests.short).toBe(0)
  })
})

describe('frames', () => {
  async function http2Socket() {
    const socket = await world.raw({ ALPNProtocols: ['h2'], localAddress: '127.0.0.2' })
    const goAways: number[] = []
    onFrames(socket, (type, _flags, _stream, payload) => {
      if (type === FRAME.goAway) goAways.push(payload.readUInt32BE(4))
    })
    const isOver = (): boolean => socket.destroyed || goAways.length > 0
    socket.write(PREFACE)
    return { socket, goAways, isOver }
  }

  /** Until the connection is over, or the frames are. */
  async function flood(next: (index: number) => Buffer, count: number): Promise<number> {
    const { socket, isOver } = await http2Socket()
    let index = 0
    for (; index < count && !isOver(); index += 1) {
      socket.write(next(index))
      if (index % 50 === 0) await new Promise(setImmediate)
    }
    await expect.poll(isOver).toBe(true)
    socket.destroy()
    return index
  }

  it('rapid reset', async () => {
    const head = (index: number) =>
      headersFrame(index * 2 + 1, requestHead('GET', '/version'), FLAG.endHeaders | FLAG.endStream)
    const sent = await flood(
      (index) => Buffer.concat([head(index), resetFrame(index * 2 + 1, constants.NGHTTP2_CANCEL)]),
      5_000,
    )
    expect(sent).toBeLessThan(5_000)
    await expectOthersUnharmed()
  })

  it('CONTINUATION without end', async () => {
    const more = frame(
      FRAME.continuation,
      0,
      1,
      Buffer.concat([Buffer.from([0, 1, 0x61, 100]), Buffer.alloc(100, 0x62)]),
    )
    const first = headersFrame(1, requestHead('GET', '/version'), FLAG.endStream)
    expect(await flood((index) => (index === 0 ? first : more), 10_000)).toBeLessThan(10_000)
    await expectOthersUnharmed()
  })

  it.each([
    ['SETTINGS', frame(FRAME.settings, 0, 0)],
    ['PING', frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
  ])('%s whose answers are never read', async (_name, one) => {
    const { socket } = await http2Socket()
    socket.pause()
    const many = Buffer.concat(Array.from({ length: 1_000 }, () => one))
    for (let count = 0; count < 200 && !socket.writableNeedDrain && !socket.destroyed; count += 1) socket.write(many)
    await expectOthersUnharmed()
    socket.destroy()
  })

  it('huge headers', async () => {
    const large = Array.from({ length: 60 }, (_, index) => [`x-${index}`, 'v'.repeat(2_000)] as const)
    const session = world.http2()
    const stream = session.request({ ':path': '/version', ...Object.fromEntries(large) })
    await expect(once(stream, 'response')).rejects.toThrow()
    const lines = large.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    expect(await world.say(`GET /version HTTP/1.1\r\nHost: x\r\n${lines}\r\n`)).toMatch(/^(HTTP\/1.1 431 |$)/)
    await expectOthersUnharmed()
  })
})
