/** What somebody who can reach a front does to it, and what nodes do to the routing behind it. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it, vi } from 'vitest'
import { CONNECT_HEAD_TIMEOUT_MS } from '../../src/hub/fronts/connect-connection.ts'
import { MAX_CONNECT_HEAD_BYTES } from '../../src/hub/fronts/connect-head.ts'
import { FAILED_FRONT_DIALS_LOG_BURST } from '../../src/hub/fronts/front-dials.ts'
import { FRONT_HANDSHAKE_TIMEOUT_MS } from '../../src/hub/fronts/front-tls.ts'
import type { RouteDialer } from '../../src/hub/routing/route-dialer.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { OpenError } from '../../src/tunnel/open-error.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import {
  CONNECT_EDGE,
  ESTABLISHED,
  eventually,
  type FrontWorld,
  type FrontWorldOptions,
  startFarEnd,
  startFront,
} from '../worlds/front-world.ts'
import { serverIdentity } from '../worlds/hub-world.ts'

const hanging: RouteDialer['dial'] = () => new Promise(() => {})

async function openCount(front: FrontWorld): Promise<number> {
  return await front.count('causeway_hub_front_connections')
}

describe('a client that', () => {
  it('never ends its head (slowloris) is told so and cut off', async () => {
    const front = await startFront({ dial: hanging })
    const client = await front.dial()
    client.socket.write('CONNECT edge-1:10250 HTTP/1.1\r\nX: ')
    await eventually(() => expect(front.clock.pending).toBe(1))
    await front.clock.advance(CONNECT_HEAD_TIMEOUT_MS)
    await eventually(() => expect(client.received).toMatch(/^HTTP\/1\.1 408 /))
    client.socket.end()
    await eventually(async () => expect(await openCount(front)).toBe(0))
    expect(await front.count('causeway_hub_front_rejected_total', { reason: 'timeout' })).toBe(1)
    expect(front.clock.pending).toBe(0)
  })

  it('sends a head without end is told so, and its bytes are not kept', async () => {
    const front = await startFront({ dial: hanging })
    const client = await front.dial()
    client.socket.write(`CONNECT edge-1:1 HTTP/1.1\r\nX: ${'a'.repeat(2 * MAX_CONNECT_HEAD_BYTES)}`)
    await eventually(() => expect(client.received).toMatch(/^HTTP\/1\.1 431 /))
    expect(await front.count('causeway_hub_front_rejected_total', { reason: 'request' })).toBe(1)
  })

  it.each([
    'GET http://edge-1:10250/ HTTP/1.1',
    'CONNECT /etc/passwd HTTP/1.1',
    'CONNECT a@edge-1:1 HTTP/1.1',
    'SSH-2.0-x',
  ])('asks for %j gets no dial', async (line) => {
    const dial = vi.fn(hanging)
    const front = await startFront({ dial })
    const client = await front.dial()
    client.socket.write(`${line}\r\n\r\n`)
    await eventually(() => expect(client.received).toMatch(/^HTTP\/1\.1 40[05] /))
    expect(dial).not.toHaveBeenCalled()
  })

  it('hides a second request behind the first only sends bytes to its own destination', async () => {
    const far = await startFarEnd()
    const dial = vi.fn<RouteDialer['dial']>(async () => ({ node: 'edge-1', stream: await far.connect() }))
    const front = await startFront({ dial })
    const client = await front.dial()
    const hidden = 'CONNECT edge-2:10250 HTTP/1.1\r\n\r\n'
    client.socket.write(`${CONNECT_EDGE}${hidden}`)
    expect(String((await once(await far.accepted(), 'data'))[0])).toBe(hidden)
    await eventually(() => expect(client.received).toBe(ESTABLISHED))
    expect(dial).toHaveBeenCalledTimes(1)
  })

  it('puts a line end into an error does not put one into the answer', async () => {
    const dial = () => Promise.reject(new OpenError('refused', 'x\r\nSet-Cookie: y\r\n\r\nHTTP/1.1 200 OK'))
    const front = await startFront({ dial })
    const client = await front.dial()
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(client.hasEnded).toBe(true))
    const [head = ''] = client.received.split('\r\n\r\n')
    expect(head.split('\r\n').map((line) => line.split(/[ :]/)[0])).toEqual([
      'HTTP/1.1',
      'Connection',
      'Content-Type',
      'Content-Length',
    ])
  })

  it('goes while the far end is being dialled stops the dial, and leaves nothing', async () => {
    const far = await startFarEnd()
    let signal: AbortSignal | undefined
    let connected = (): void => {}
    const wait = new Promise<void>((resolve) => {
      connected = resolve
    })
    const front = await startFront({
      dial: async (_host, _port, options) => {
        signal = options.signal
        await wait
        return { node: 'edge-1', stream: await far.connect() }
      },
    })
    const client = await front.dial()
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(signal).toBeDefined())
    client.socket.destroy()
    await front.running.stop(AbortSignal.abort())
    await eventually(() => expect(signal?.aborted).toBe(true))
    connected()
    const server = await far.accepted()
    server.resume()
    await eventually(() => expect(server.readableEnded).toBe(true))
  })
})

describe('too many', () => {
  it('connections are closed at once', async () => {
    const front = await startFront({ dial: hanging, maxConnections: 2 })
    const kept = [await front.dial(), await front.dial()]
    const third = await front.dial()
    await eventually(() => expect(third.hasEnded).toBe(true))
    expect(kept.map(({ hasEnded }) => hasEnded)).toEqual([false, false])
    expect(await front.count('causeway_hub_front_rejected_total', { reason: 'limit' })).toBe(1)
  })

  it('dials at the same time are refused with a code, and make room as they end', async () => {
    const ends: (() => void)[] = []
    const dial = vi.fn<RouteDialer['dial']>(
      () => new Promise((_, reject) => ends.push(() => reject(new OpenError('timeout', 'late')))),
    )
    const front = await startFront({ dial, maxPendingDials: 2 })
    const ask = async () => {
      const client = await front.dial()
      client.socket.write(CONNECT_EDGE)
      return client
    }
    const first = await ask()
    await ask()
    await eventually(() => expect(dial).toHaveBeenCalledTimes(2))
    const third = await ask()
    await eventually(() => expect(third.received).toMatch(/^HTTP\/1\.1 503 overloaded: /))
    ends[0]?.()
    await eventually(() => expect(first.received).toMatch(/^HTTP\/1\.1 504 timeout: late/))
    await ask()
    await eventually(() => expect(dial).toHaveBeenCalledTimes(3))
  })
})

describe('dials that fail by the hundred', () => {
  it('fill no log, and are all counted', async () => {
    const front = await startFront({ dial: () => Promise.reject(new OpenError('no-route', 'nobody has that address')) })
    const total = FAILED_FRONT_DIALS_LOG_BURST + 50
    for (let count = 0; count < total; count++) {
      const client = await front.dial()
      client.socket.write(CONNECT_EDGE)
      await eventually(() => expect(client.hasEnded).toBe(true))
      client.socket.destroy()
    }
    expect(await front.count('causeway_hub_front_dials_total', { code: 'no-route' })).toBe(total)
    const lines = front.log.filter(({ msg }) => msg === 'not connected for the control plane')
    expect(lines).toHaveLength(FAILED_FRONT_DIALS_LOG_BURST)
  })
})

describe('on the TCP port', () => {
  async function tcpFront(options: Partial<FrontWorldOptions> = {}): Promise<FrontWorld> {
    const clock = new ManualClock(Date.now())
    const ca = await makeCa(clock)
    const identity = await serverIdentity(ca, clock)
    const tls = { identity: () => identity, trust: () => [ca.certificate], allowedNames: [] }
    const address = { kind: 'tcp', listen: { host: '127.0.0.1', port: 0 }, tls } as const
    return await startFront({ dial: hanging, address, ...options })
  }

  /** Unlike `once`, whatever error it closes with. */
  function closeOf(socket: Socket): Promise<void> {
    return new Promise((resolve) => socket.once('close', () => resolve()))
  }

  it('a client that never shakes hands is cut off', async () => {
    const front = await tcpFront()
    const socket = connect(front.listener.boundAddress.port, '127.0.0.1').on('error', () => {})
    await eventually(() => expect(front.clock.pending).toBe(1))
    const closed = closeOf(socket)
    await front.clock.advance(FRONT_HANDSHAKE_TIMEOUT_MS)
    await closed
    await eventually(async () => expect(await openCount(front)).toBe(0))
    expect(front.clock.pending).toBe(0)
  })

  it('strangers that hold every place keep nobody out: the oldest goes', async () => {
    const front = await tcpFront({ maxConnections: 2, maxStrangers: 4 })
    const { port } = front.listener.boundAddress
    const strangers: Socket[] = []
    for (let count = 0; count < 4; count++) {
      strangers.push(connect(port, '127.0.0.1').on('error', () => {}))
      await eventually(async () => expect(await openCount(front)).toBe(count + 1))
    }
    const gone = closeOf(strangers[0] as Socket)
    const last = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {})
    await once(last, 'secureConnect')
    await gone
    expect(strangers.filter(({ destroyed }) => destroyed)).toHaveLength(1)
    expect(await front.count('causeway_hub_front_rejected_total', { reason: 'limit' })).toBe(1)
    for (const socket of [...strangers, last]) socket.destroy()
  })

  it('strangers by the hundred fill no log', async () => {
    const front = await tcpFront()
    const { port } = front.listener.boundAddress
    for (let count = 0; count < 20; count++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.write('no greeting at all\r\n\r\n')
      await closeOf(socket.resume())
      const refused = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {})
      await once(refused.resume(), 'end')
      refused.destroy()
    }
    await eventually(async () =>
      expect(await front.count('causeway_hub_front_rejected_total', { reason: 'tls' })).toBeGreaterThan(19),
    )
    expect(front.log.filter(({ msg }) => msg === 'tls handshake with a front failed')).toHaveLength(1)
    expect(front.log.filter(({ msg }) => msg === 'a client may not use this front')).toHaveLength(1)
  })

  it('a plain CONNECT is not served', async () => {
    const front = await tcpFront()
    const socket = connect(front.listener.boundAddress.port, '127.0.0.1').on('error', () => {})
    socket.write(CONNECT_EDGE)
    const received: Buffer[] = []
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    await closeOf(socket)
    expect(Buffer.concat(received).toString('latin1')).not.toContain('HTTP')
    expect(await front.count('causeway_hub_front_rejected_total', { reason: 'tls' })).toBe(1)
  })
})
