import { Duplex, PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { OpenError } from '../open-error.ts'
import { Budget } from '../yamux/budget.ts'
import { MAX_FRUITLESS_OPENS_AT_ONCE } from '../yamux/limits.ts'
import { MAX_QUEUED_BYTES_PER_CONNECTION, READER_STALL_LIMIT_MS } from './link-pressure.ts'
import type { Packet } from './packet.ts'
import { MAX_IDLE_PACKETS_AT_ONCE, PacketFloodError } from './packet-limits.ts'
import type { PacketPort, SentPacket } from './packet-port.ts'
import {
  CLOSE_TIMEOUT_MS,
  MAX_CONTROL_BACKLOG_BYTES,
  PacketSession,
  type PacketSessionOptions,
} from './packet-session.ts'

class RecordingPort implements PacketPort {
  readonly sent: SentPacket[] = []
  backlogBytes = 0
  isPaused = false
  aborted: Error | undefined

  send(packet: SentPacket, done?: (error?: Error | null) => void): void {
    this.sent.push(packet)
    done?.()
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  abort(error: Error): void {
    this.aborted ??= error
  }

  /** The packets sent since the last call. */
  take(): SentPacket[] {
    return this.sent.splice(0)
  }
}

function server(options: Partial<PacketSessionOptions> = {}) {
  const clock = new ManualClock()
  const port = new RecordingPort()
  const ids = { first: 3, step: 2 }
  const session = new PacketSession(port, {
    clock,
    net: loudNet(),
    budget: new Budget(),
    closesWith: 'close-request',
    ids,
    ...options,
  })
  return { clock, port, session }
}

function agent(options: Partial<PacketSessionOptions> = {}) {
  return server({ closesWith: 'close-response', ids: { first: 1, step: 1 }, ...options })
}

async function dialled(world: ReturnType<typeof server>, connectId = 1): Promise<Duplex> {
  const { session, port } = world
  const dial = session.dial({ address: 'a:1', deadlineMs: 1_000 })
  const [request] = port.take()
  if (request?.type !== 'dial-request') throw new Error('no dial')
  session.receive({ type: 'dial-response', random: request.random, connectId, error: '' })
  return await dial
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const data = (connectId: number, text: string | Buffer): Packet => ({
  type: 'data',
  connectId,
  data: Buffer.from(text),
})

describe('dialling through a link', () => {
  it('sends the address and joins the bytes of both ways', async () => {
    const world = server()
    const connection = await dialled(world)
    connection.write('ping')
    world.session.receive(data(1, 'pong'))
    expect(world.port.take()).toEqual([data(1, 'ping')])
    expect(String(connection.read())).toBe('pong')
  })

  it.each([
    ['dial tcp 10.0.0.1:1: connect: connection refused', 'refused'],
    ['dial tcp: lookup nowhere: no such host', 'dns'],
    ['dial tcp 10.0.0.1:1: i/o timeout', 'timeout'],
    ['socket: too many open files', 'overloaded'],
    ['No agent available', 'no-route'],
    ['something else', 'refused'],
  ])('tells "%s" as %s', async (error, code) => {
    const { session, port } = server()
    const dial = session.dial({ address: 'a:1', deadlineMs: 1_000 })
    const [request] = port.take()
    if (request?.type !== 'dial-request') throw new Error('no dial')
    session.receive({ type: 'dial-response', random: request.random, connectId: 0, error })
    await expect(dial).rejects.toMatchObject({ code, message: error })
  })

  it('gives a silent agent up at the deadline, and closes what it opens later', async () => {
    const { session, port, clock } = server()
    const dial = expect(session.dial({ address: 'a:1', deadlineMs: 1_000 })).rejects.toMatchObject({ code: 'timeout' })
    const [request] = port.take()
    if (request?.type !== 'dial-request') throw new Error('no dial')
    await clock.advance(1_000)
    await dial
    session.receive({ type: 'dial-response', random: request.random, connectId: 9, error: '' })
    expect(port.take()).toEqual([
      { type: 'dial-close', random: request.random },
      { type: 'close-request', connectId: 9 },
    ])
    expect(session.streamCount).toBe(0)
  })

  it('fails at once when the link goes, waiting and open alike', async () => {
    const world = server()
    const connection = await dialled(world)
    const waiting = expect(world.session.dial({ address: 'b:1', deadlineMs: 1_000 })).rejects.toMatchObject({
      code: 'no-route',
    })
    world.session.closed(new Error('gone'))
    await waiting
    expect(connection.destroyed).toBe(true)
    await expect(world.session.dial({ address: 'c:1', deadlineMs: 1 })).rejects.toMatchObject({ code: 'no-route' })
    expect(world.clock.pending).toBe(0)
  })

  it('ends with what was written before, and delivers what comes until the peer agrees', async () => {
    const world = server()
    const connection = await dialled(world)
    connection.end('last')
    await turn()
    expect(world.port.take()).toEqual([data(1, 'last'), { type: 'close-request', connectId: 1 }])
    world.session.receive(data(1, 'late'))
    expect(String(connection.read())).toBe('late')
    world.session.receive({ type: 'close-response', connectId: 1, error: '' })
    connection.resume()
    await turn()
    expect(connection.readableEnded).toBe(true)
    expect(world.clock.pending).toBe(0)
  })

  it('forgets a connection that the peer never agrees to close', async () => {
    const world = server()
    const connection = await dialled(world)
    connection.destroy()
    await turn()
    expect(world.session.streamCount).toBe(1)
    await world.clock.advance(CLOSE_TIMEOUT_MS)
    expect(world.session.streamCount).toBe(0)
  })

  it('answers data for nobody by closing it', () => {
    const { session, port } = server()
    session.receive(data(7, 'lost'))
    expect(port.take()).toEqual([{ type: 'close-request', connectId: 7 }])
  })

  it('ends a link whose peer gives one identifier twice', async () => {
    const world = server()
    await dialled(world, 4)
    await expect(dialled(world, 4)).rejects.toMatchObject({ code: 'invalid' })
    expect(world.port.aborted?.message).toContain('given twice')
  })

  it('has no more connections than it may have', async () => {
    const world = server({ maxConnections: 1 })
    await dialled(world)
    await expect(world.session.dial({ address: 'b:1', deadlineMs: 1 })).rejects.toMatchObject({ code: 'overloaded' })
  })

  it('hears of a drain, and passes over what it does not know', () => {
    let drains = 0
    const { session, port } = server({ onDrain: () => drains++ })
    session.receive({ type: 'drain' })
    session.receive({ type: 'unknown', number: 32 })
    expect(drains).toBe(1)
    expect(port.take()).toEqual([])
  })
})

describe('answering the dials of a link', () => {
  const request = (random: bigint, protocol = 'tcp'): Packet => ({
    type: 'dial-request',
    protocol,
    address: 'target:80',
    random,
  })

  it('connects, joins, and tells the end of the target', async () => {
    const target = new PassThrough()
    const { session, port } = agent({ answer: async () => target })
    session.receive(request(5n))
    await turn()
    expect(port.take()).toEqual([{ type: 'dial-response', random: 5n, connectId: 1, error: '' }])
    session.receive(data(1, 'echo'))
    await turn()
    expect(port.take()).toEqual([data(1, 'echo')])
    target.end()
    await turn()
    expect(port.take()).toEqual([{ type: 'close-response', connectId: 1, error: '' }])
    expect(session.streamCount).toBe(0)
  })

  it('writes everything to the target before it closes it', async () => {
    const written: string[] = []
    const slow = new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        setImmediate(() => {
          written.push(String(chunk))
          done()
        })
      },
    })
    const { session, port, clock } = agent({ answer: async () => slow })
    session.receive(request(5n))
    await turn()
    for (const text of ['a', 'b', 'c']) session.receive(data(1, text))
    session.receive({ type: 'close-request', connectId: 1 })
    session.receive({ type: 'close-request', connectId: 1 })
    for (let count = 0; count < 6; count++) await turn()
    expect(written).toEqual(['a', 'b', 'c'])
    expect(port.take().slice(1)).toEqual([
      { type: 'close-response', connectId: 1, error: '' },
      { type: 'close-response', connectId: 1, error: 'Unknown connectID' },
    ])
    await clock.advance(60_000)
    expect(slow.destroyed).toBe(true)
    expect(clock.pending).toBe(0)
  })

  it.each([
    [new OpenError('refused', 'ECONNREFUSED'), 'dial tcp target:80: connection refused: ECONNREFUSED'],
    [new OpenError('dns', 'ENOTFOUND'), 'dial tcp target:80: no such host: ENOTFOUND'],
    [new OpenError('timeout', '5 s'), 'dial tcp target:80: i/o timeout: 5 s'],
    [new OpenError('denied', 'not listed'), 'dial tcp target:80: denied: not listed'],
  ])('tells %s with the words peers look for', async (error, text) => {
    const answer = async (): Promise<Duplex> => {
      throw error
    }
    const { session, port } = agent({ answer })
    session.receive(request(5n))
    await turn()
    expect(port.take()).toEqual([{ type: 'dial-response', random: 5n, connectId: 0, error: text }])
  })

  it('says nothing more about a dial that was given up, and closes what it reached', async () => {
    const target = new PassThrough()
    let reach = (_target: Duplex): void => {}
    const reached = new Promise<Duplex>((resolve) => {
      reach = resolve
    })
    const { session, port } = agent({ answer: () => reached })
    session.receive(request(5n))
    session.receive({ type: 'dial-close', random: 5n })
    reach(target)
    await turn()
    expect(port.take()).toEqual([])
    expect(target.destroyed).toBe(true)
  })

  it('refuses all dials where none are wanted, and other protocols always', async () => {
    const none = agent()
    none.session.receive(request(1n))
    const udp = agent({ answer: async () => new PassThrough() })
    udp.session.receive(request(2n, 'udp'))
    expect([...none.port.take(), ...udp.port.take()]).toMatchObject([
      { connectId: 0, error: expect.stringContaining('denied') },
      { connectId: 0, error: expect.stringContaining('protocol not supported') },
    ])
  })

  it('answers data and closings for nobody as the stock agent does', () => {
    const { session, port } = agent()
    session.receive(data(7, 'x'))
    session.receive({ type: 'close-request', connectId: 8 })
    expect(port.take()).toEqual([
      { type: 'close-response', connectId: 7, error: 'unrecognized connectID' },
      { type: 'close-response', connectId: 8, error: 'Unknown connectID' },
    ])
  })

  it.each<[string, Packet]>([
    ['data for nobody', data(99, 'x')],
    ['closings of nothing', { type: 'close-request', connectId: 99 }],
    ['agreement to nothing', { type: 'close-response', connectId: 99, error: '' }],
    ['answers to no dial', { type: 'dial-response', random: 5n, connectId: 9, error: '' }],
    ['ends of no dial', { type: 'dial-close', random: 5n }],
    ['packets of no known type', { type: 'unknown', number: 77 }],
  ])('is not served any more if it sends without end %s', (_name, packet) => {
    const { session, port } = agent()
    for (let count = 0; count < MAX_IDLE_PACKETS_AT_ONCE; count++) session.receive(packet)
    expect(port.aborted).toBeUndefined()
    session.receive(packet)
    expect(port.aborted).toBeInstanceOf(PacketFloodError)
  })

  it.each<[string, Packet[]]>([
    ['that are denied', [{ type: 'dial-request', protocol: 'tcp', address: 'a:1', random: 1n }]],
    ['that cannot be', [{ type: 'dial-request', protocol: 'udp', address: 'a:1', random: 1n }]],
    [
      'that it gives up at once',
      [
        { type: 'dial-request', protocol: 'tcp', address: 'b:1', random: 1n },
        { type: 'dial-close', random: 1n },
      ],
    ],
  ])('is not served any more if it dials without end %s', async (_name, packets) => {
    const { session, port } = agent({
      answer: (address) => (address === 'a:1' ? Promise.reject(new OpenError('denied', 'no')) : new Promise(() => {})),
    })
    for (let count = 0; count <= MAX_FRUITLESS_OPENS_AT_ONCE; count++) {
      for (const packet of packets) session.receive(packet)
      await Promise.resolve()
      if (count % 100 === 0) await turn()
    }
    await turn()
    expect(port.aborted).toBeInstanceOf(PacketFloodError)
  })

  it('is not served any more if it asks and never reads', () => {
    const { session, port } = agent()
    port.backlogBytes = MAX_CONTROL_BACKLOG_BYTES + 1
    session.receive(data(7, 'x'))
    expect(port.aborted?.message).toContain('more than it reads')
    expect(port.take()).toEqual([])
  })
})

describe('readers that do not keep up', () => {
  const block = Buffer.alloc(256 * 1024)
  const fill = (world: ReturnType<typeof server>, id: number): void => {
    for (let bytes = 0; bytes <= MAX_QUEUED_BYTES_PER_CONNECTION; bytes += block.length)
      world.session.receive(data(id, block))
  }

  it('hold the link up while they make progress', async () => {
    const world = server()
    const connection = await dialled(world)
    fill(world, 1)
    expect(world.port.isPaused).toBe(true)
    for (let count = 0; count < 5; count++) {
      await world.clock.advance(READER_STALL_LIMIT_MS - 1)
      connection.read(1024)
    }
    expect(connection.destroyed).toBe(false)
    connection.read()
    connection.read()
    connection.resume()
    await turn()
    expect(world.port.isPaused).toBe(false)
    expect(world.clock.pending).toBe(0)
  })

  it('are ended when they stop, and only they', async () => {
    let stalled = 0
    const world = server({ onStalled: () => stalled++ })
    const offender = await dialled(world, 1)
    const healthy = await dialled(world, 2)
    fill(world, 1)
    await world.clock.advance(READER_STALL_LIMIT_MS)
    expect([offender.destroyed, healthy.destroyed, world.port.isPaused, stalled]).toEqual([true, false, false, 1])
    expect(world.port.take()).toContainEqual({ type: 'close-request', connectId: 1 })
    world.session.receive(data(2, 'still here'))
    expect(String(healthy.read())).toBe('still here')
  })

  it('are ended at once, without holding anybody up, if they stopped long ago', async () => {
    const world = server()
    const offender = await dialled(world)
    world.session.receive(data(1, block))
    await world.clock.advance(READER_STALL_LIMIT_MS)
    fill(world, 1)
    expect([offender.destroyed, world.port.isPaused]).toEqual([true, false])
  })

  it('may take for ever on a link of their own', async () => {
    const target = new Duplex({ read() {}, write() {} })
    const world = agent({ answer: async () => target, isSingleUse: true })
    world.session.receive({ type: 'dial-request', protocol: 'tcp', address: 'a:1', random: 1n })
    await turn()
    // One block is with the target already.
    world.session.receive(data(1, block))
    fill(world, 1)
    expect(world.port.isPaused).toBe(true)
    await world.clock.advance(60_000)
    expect(target.destroyed).toBe(false)
  })

  it('pay first when the process has no more room', async () => {
    const world = server({ budget: new Budget({ maxProcessBufferedBytes: 3 * block.length }) })
    const large = await dialled(world, 1)
    const small = await dialled(world, 2)
    world.session.receive(data(2, block))
    for (let count = 0; count < 3; count++) world.session.receive(data(1, block))
    expect([large.destroyed, small.destroyed]).toEqual([true, false])
  })
})
