/** Connections that cost more than they are worth: what is left behind by those who hold them, and for how long. */
import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { CLIENT_PING_MS } from '../../src/edge/endpoint/endpoint.ts'
import { MAX_UNANSWERED_PINGS } from '../../src/http/server/limits.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { whoAmI } from './endpoint-asking.ts'
import { FLAG, FRAME, frame, headersFrame, PREFACE, requestHead } from './endpoint-frames.ts'
import { AttackWorld } from './endpoint-world.ts'

describe('connections', () => {
  const attacker = { localAddress: '127.0.0.2' }

  it('idle connections without end', async () => {
    const small = await AttackWorld.start({ maxConnectionsPerAddress: 20 })
    const sockets = await Promise.all(Array.from({ length: 20 }, () => small.raw(attacker)))
    await expect(small.raw(attacker)).rejects.toThrow()
    // Those who do not even begin their handshake count too.
    const silent = connect({ port: small.port, host: '127.0.0.1', ...attacker })
    silent.on('error', () => {}).resume()
    await new Promise((resolve) => silent.once('close', resolve))
    expect(await small.metric('causeway_edge_endpoint_connections_refused_total', 'limit')).toBe(2)
    expect(await whoAmI(small.http2())).toBe('system:anonymous')
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => small.endpoint.status.connections).toBe(1)
    expect(await whoAmI(small.http2(attacker))).toBe('system:anonymous')
    await small.stop()
  })

  it.each([
    ['DATA for no stream', frame(FRAME.data, 0, 0, Buffer.from('x'))],
    ['headers that cannot be decompressed', frame(FRAME.headers, FLAG.endHeaders, 5, Buffer.alloc(5, 0xff))],
    ['CONTINUATION of nothing', frame(FRAME.continuation, FLAG.endHeaders, 1)],
    ['a PING of the wrong size', frame(FRAME.ping, 0, 0, Buffer.alloc(7))],
  ])('a breach of the protocol beside a watch, and gone: %s', async (_name, breach) => {
    const clock = new ManualClock()
    const own = await AttackWorld.start({ clock })
    const token = await own.readerToken('attacker')
    const socket = await own.raw({ ALPNProtocols: ['h2'], ...attacker })
    const head = [...requestHead('GET', '/api/v1/configmaps?watch=1'), ['authorization', `Bearer ${token}`]] as const
    socket.write(Buffer.concat([PREFACE, headersFrame(1, head, FLAG.endHeaders | FLAG.endStream)]))
    await expect.poll(() => own.endpoint.status.requests.long).toBe(1)
    // Connected before time passes, which is that of handshakes, too.
    const others = own.http2()
    await whoAmI(others)
    socket.end(breach)
    socket.destroy()
    await letTimePass(clock, others, () => own.endpoint.status.requests.long === 0)
    await expect.poll(() => own.endpoint.status.connections).toBeLessThanOrEqual(2)
    await own.stop()
  })

  it('a list that nobody reads, and gone', async () => {
    const clock = new ManualClock()
    const own = await AttackWorld.start({ clock })
    const token = await own.readerToken('attacker')
    for (let count = 0; count < 15; count += 1) await own.makeLarge(`large-${count}`)
    const socket = await own.raw({ ALPNProtocols: ['h2'], ...attacker })
    socket.pause()
    const head = [...requestHead('GET', '/api/v1/configmaps'), ['authorization', `Bearer ${token}`]] as const
    const endless = Buffer.from([0x3f, 0, 0, 0])
    socket.write(
      Buffer.concat([
        PREFACE,
        headersFrame(1, head, FLAG.endHeaders | FLAG.endStream),
        ...[0, 1].map((stream) => frame(FRAME.windowUpdate, 0, stream, endless)),
      ]),
    )
    await once(socket, 'readable')
    // By the time that all this is answered, all that fits between the two ends is on its way, and the rest waits.
    const others = own.http2()
    for (let round = 0; round < 50; round += 1) await whoAmI(others)
    await expect.poll(() => own.endpoint.status.requests.short).toBe(1)
    socket.destroy()
    await letTimePass(clock, others, () => own.endpoint.status.requests.short === 0)
    await expect.poll(() => own.upstream.status.pools.map(({ streams }) => streams)).toEqual([0, 0, 0])
    await own.stop()
  })

  /** As long as pings take to show that a client has gone, and no longer. */
  async function letTimePass(clock: ManualClock, others: ClientHttp2Session, isOver: () => boolean): Promise<void> {
    for (let pings = 0; pings <= MAX_UNANSWERED_PINGS + 1 && !isOver(); pings += 1) {
      await clock.advance(CLIENT_PING_MS)
      // What happens by then has happened when somebody else has been answered.
      await whoAmI(others)
    }
    await expect.poll(isOver).toBe(true)
  }
})
