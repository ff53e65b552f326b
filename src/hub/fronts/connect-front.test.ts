import { once } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import {
  CONNECT_EDGE,
  ESTABLISHED,
  eventually,
  type FarEnd,
  type FrontTestClient,
  type FrontWorld,
  startFarEnd,
  startFront,
} from '../../../test/worlds/front-world.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { RefusalCode } from '../../tunnel/prelude/answer.ts'
import type { DialedRoute, RouteDialer } from '../routing/route-dialer.ts'
import { FIRST_WORD_HOLD_MS, FRONT_LINGER_MS, MAX_EARLY_BYTES } from './connect-connection.ts'
import { FRONT_DIAL_TIMEOUT_MS } from './connect-front.ts'

async function world(far: FarEnd): Promise<FrontWorld> {
  return await startFront({ dial: async () => ({ node: 'edge-1', stream: await far.connect() }) })
}

async function refusing(code: RefusalCode, text: string): Promise<FrontWorld> {
  return await startFront({ dial: () => Promise.reject(new OpenError(code, text)) })
}

async function established(client: FrontTestClient): Promise<void> {
  client.socket.write(CONNECT_EDGE)
  await eventually(() => expect(client.received).toBe(ESTABLISHED))
}

describe('a CONNECT that succeeds', () => {
  it('is answered 200 and passes bytes both ways, counted and logged', async () => {
    const far = await startFarEnd()
    const front = await world(far)
    const client = await front.dial()
    await established(client)
    client.socket.write('question')
    const server = await far.accepted()
    expect(String((await once(server, 'data'))[0])).toBe('question')
    server.end('answer')
    client.socket.end()
    await eventually(() => expect(client.received).toBe(`${ESTABLISHED}answer`))
    await eventually(async () => expect(await front.count('causeway_hub_front_connections')).toBe(0))
    expect(await front.count('causeway_hub_front_dials_total', { code: 'ok' })).toBe(1)
    expect(await front.count('causeway_hub_front_bytes_total', { direction: 'to-edge' })).toBe(8)
    expect(await front.count('causeway_hub_front_bytes_total', { direction: 'from-edge' })).toBe(6)
    expect(front.log).toContainEqual(
      expect.objectContaining({ destination: 'edge-1:10250', node: 'edge-1', source: 'the unix socket' }),
    )
    expect(front.clock.pending).toBe(0)
  })

  it('tells the dialer the destination, who asks, and how long there is', async () => {
    const far = await startFarEnd()
    const dial = vi.fn<RouteDialer['dial']>(async () => ({ node: 'edge-1', stream: await far.connect() }))
    const front = await startFront({ dial })
    const client = await front.dial()
    client.socket.write('CONNECT [FD00::0001]:443 HTTP/1.1\r\n\r\n')
    await eventually(() => expect(client.received).toBe(ESTABLISHED))
    const options = { source: 'the unix socket', deadlineMs: FRONT_DIAL_TIMEOUT_MS }
    expect(dial).toHaveBeenCalledExactlyOnceWith('fd00::1', 443, expect.objectContaining(options))
  })

  it('says nothing before the far end is connected', async () => {
    let connected = (_route: DialedRoute): void => {}
    const dial = vi.fn<RouteDialer['dial']>(() => new Promise((resolve) => (connected = resolve)))
    const front = await startFront({ dial })
    const far = await startFarEnd()
    const client = await front.dial()
    client.socket.write(`${CONNECT_EDGE}early`)
    await eventually(() => expect(dial).toHaveBeenCalledTimes(1))
    const stream = await far.connect()
    expect(client.received).toBe('')
    connected({ node: 'edge-1', stream })
    await eventually(() => expect(client.received).toBe(ESTABLISHED))
    expect(String((await once(await far.accepted(), 'data'))[0])).toBe('early')
  })

  it('holds a far end that speaks first until the 200 has gone out alone', async () => {
    const front = await world(await startFarEnd('220 ready\r\n'))
    const client = await front.dial()
    await established(client)
    await front.clock.advance(FIRST_WORD_HOLD_MS - 1)
    expect(client.reads).toEqual([ESTABLISHED])
    await front.clock.advance(1)
    await eventually(() => expect(client.reads).toEqual([ESTABLISHED, '220 ready\r\n']))
  })

  it('does not hold it longer than until the client speaks', async () => {
    const front = await world(await startFarEnd('220 ready\r\n'))
    const client = await front.dial()
    await established(client)
    client.socket.write('hello')
    await eventually(() => expect(client.received).toBe(`${ESTABLISHED}220 ready\r\n`))
    expect(front.clock.pending).toBe(0)
  })
})

describe('the halves of a connection', () => {
  it('end one by one, the client first', async () => {
    const far = await startFarEnd()
    const front = await world(far)
    const client = await front.dial()
    await established(client)
    client.socket.end('all I say')
    const server = await far.accepted()
    server.resume()
    await once(server, 'end')
    server.write('still ')
    await eventually(() => expect(client.received).toBe(`${ESTABLISHED}still `))
    server.end('speaking')
    await eventually(() => expect([client.received, client.hasEnded]).toEqual([`${ESTABLISHED}still speaking`, true]))
  })

  it('end one by one, the far end first', async () => {
    const far = await startFarEnd()
    const front = await world(far)
    const client = await front.dial()
    await established(client)
    const server = await far.accepted()
    server.end('bye')
    await front.clock.advance(FIRST_WORD_HOLD_MS)
    await eventually(() => expect([client.received, client.hasEnded]).toEqual([`${ESTABLISHED}bye`, true]))
    client.socket.end('thanks')
    expect(String((await once(server, 'data'))[0])).toBe('thanks')
    await once(server, 'end')
  })

  it('end one by one also where the client has ended before the answer', async () => {
    const far = await startFarEnd()
    const front = await world(far)
    const client = await front.dial()
    client.socket.end(`${CONNECT_EDGE}request`)
    const server = await far.accepted()
    let heard = ''
    server.on('data', (chunk) => {
      heard += String(chunk)
    })
    await once(server, 'end')
    expect(heard).toBe('request')
    server.end('response')
    await eventually(() => expect([client.received, client.hasEnded]).toEqual([`${ESTABLISHED}response`, true]))
  })

  it('are both cut when either breaks', async () => {
    const far = await startFarEnd()
    const front = await world(far)
    const client = await front.dial()
    await established(client)
    client.socket.write('x')
    const server = await far.accepted()
    server.resetAndDestroy()
    await eventually(() => expect(client.hasEnded).toBe(true))
    await eventually(async () => expect(await front.count('causeway_hub_front_connections')).toBe(0))
    const other = await front.dial()
    await established(other)
    other.socket.write('x')
    const second = await far.accepted()
    await once(second, 'data')
    const gone = once(second, 'close')
    other.socket.destroy()
    second.resume().write('y')
    second.end()
    await gone
    await eventually(async () => expect(await front.count('causeway_hub_front_connections')).toBe(0))
  })
})

describe('many bytes', () => {
  const size = 8 * 1024 * 1024

  it('pass in order, early ones included, and a client that does not read stops the far end', async () => {
    const far = await startFarEnd()
    const front = await world(far)
    const client = await front.dial()
    const payload = Buffer.alloc(size, 'abcdefghijklm')
    client.socket.write(CONNECT_EDGE)
    client.socket.end(payload)
    const server = await far.accepted()
    const heard: Buffer[] = []
    server.on('data', (chunk: Buffer) => heard.push(chunk))
    await once(server, 'end')
    expect(Buffer.concat(heard).equals(payload)).toBe(true)
    client.socket.pause()
    server.write(payload)
    await eventually(() => expect(server.writableNeedDrain).toBe(true))
    client.socket.resume()
    await eventually(() => expect(client.received.length).toBe(ESTABLISHED.length + size))
  })

  it('before the answer are taken only up to a limit', async () => {
    const front = await startFront({ dial: () => new Promise(() => {}) })
    const client = await front.dial()
    client.socket.write(CONNECT_EDGE)
    client.socket.write(Buffer.alloc(size))
    await eventually(() => expect(client.socket.writableNeedDrain).toBe(true))
    expect(client.socket.writableLength).toBeGreaterThan(size - 64 * MAX_EARLY_BYTES)
  })
})

describe('a CONNECT that fails', () => {
  it.each<[RefusalCode, number]>([
    ['denied', 403],
    ['refused', 502],
    ['dns', 502],
    ['no-route', 503],
    ['overloaded', 503],
    ['timeout', 504],
  ])('%s is answered with the code and the text, in the status line too', async (code, status) => {
    const front = await refusing(code, 'why\r\nX: ü')
    const client = await front.dial()
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(client.hasEnded).toBe(true))
    const [head = '', body] = Buffer.from(client.received, 'latin1').toString().split('\r\n\r\n')
    expect(head.split('\r\n')).toEqual([
      `HTTP/1.1 ${status} ${code}: why X:`,
      'Connection: close',
      'Content-Type: text/plain; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body ?? '')}`,
    ])
    expect(body).toBe(`${code}: why\r\nX: ü\n`)
    expect(await front.count('causeway_hub_front_dials_total', { code })).toBe(1)
  })

  it('is answered also to who has more to say, and cut after a moment', async () => {
    const front = await refusing('no-route', 'nobody')
    const client = await front.dial()
    client.socket.write(Buffer.concat([Buffer.from(CONNECT_EDGE), Buffer.alloc(1024 * 1024)]))
    await eventually(() => expect(client.received).toContain('no-route: nobody\n'))
    await front.clock.advance(FRONT_LINGER_MS)
    await eventually(async () => expect(await front.count('causeway_hub_front_connections')).toBe(0))
  })

  it('for a reason nobody foresaw says only that, and the log the rest', async () => {
    const front = await startFront({ dial: () => Promise.reject(new TypeError('secret detail')) })
    const client = await front.dial()
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(client.received).toMatch(/^HTTP\/1\.1 502 refused: internal error\r\n/))
    expect(client.received).not.toContain('secret')
    expect(JSON.stringify(front.log)).toContain('secret detail')
  })
})

describe('stopping', () => {
  it('ends who has not asked yet, and waits for the others until the deadline', async () => {
    const far = await startFarEnd()
    const front = await world(far)
    const [idle, busy] = [await front.dial(), await front.dial()]
    await established(busy)
    busy.socket.write('x')
    await once(await far.accepted(), 'data')
    const deadline = new AbortController()
    let hasStopped = false
    const stop = async (): Promise<void> => {
      await front.running.stop(deadline.signal)
      hasStopped = true
    }
    const stopped = stop()
    await eventually(() => expect(idle.hasEnded).toBe(true))
    expect([hasStopped, busy.hasEnded]).toEqual([false, false])
    deadline.abort()
    await stopped
    await eventually(() => expect(busy.hasEnded).toBe(true))
  })
})
