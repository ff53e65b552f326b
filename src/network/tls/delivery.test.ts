import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { nextTurn, TURN_MS } from '../../runtime/turns.ts'
import { DELIVERY_BYTES, DeliveryTurns, deliverInTurns } from './delivery.ts'

/** Sockets of one process, whose readers take as long as `workMs` for each piece. */
class World {
  readonly #clock = new ManualClock()
  #nowMs = 0
  workMs = TURN_MS
  readonly turns = new DeliveryTurns(Object.assign(this.#clock, { monotonicMs: () => this.#nowMs }))
  readonly seen: string[] = []

  socket(name = ''): Duplex & { reads: number } {
    const stream = new Duplex({
      read: () => {
        socket.reads += 1
      },
    })
    const socket = Object.assign(stream, { reads: 0 })
    deliverInTurns(stream, this.turns)
    stream.on('data', (bytes: Buffer) => {
      this.seen.push(name + bytes.toString('latin1'))
      this.#nowMs += this.workMs
    })
    stream.on('end', () => this.seen.push(`${name}end`))
    return socket
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await nextTurn()
  }
}

async function begun(world: World, socket: Duplex): Promise<void> {
  socket.resume()
  await nextTurn()
  expect(world.seen).toEqual([])
}

describe('what a peer has sent', () => {
  it('is handed out at once while the turn is young', async () => {
    const world = new World()
    world.workMs = 0
    const socket = world.socket()
    await begun(world, socket)
    for (const text of ['a', 'b', 'c']) socket.push(Buffer.from(text))
    expect(world.seen).toEqual(['a', 'b', 'c'])
  })

  it('waits for the next turn where this one is full, small records as one piece', async () => {
    const world = new World()
    const socket = world.socket()
    await begun(world, socket)
    for (const text of ['a', 'b', 'c']) socket.push(Buffer.from(text))
    expect(world.seen).toEqual(['a'])
    await world.settle()
    expect(world.seen).toEqual(['a', 'bc'])
  })

  it('stays in pieces of the size of a record', async () => {
    const world = new World()
    const socket = world.socket()
    await begun(world, socket)
    for (const text of ['a', 'b', 'c']) socket.push(Buffer.alloc(DELIVERY_BYTES, text))
    await world.settle()
    expect(world.seen.map((each) => [each[0], each.length])).toEqual(
      ['a', 'b', 'c'].map((text) => [text, DELIVERY_BYTES]),
    )
  })

  it('of many connections takes one slice of each turn, in order', async () => {
    const world = new World()
    const sockets = ['1', '2', '3'].map((name) => world.socket(name))
    for (const socket of sockets) await begun(world, socket)
    for (const socket of sockets) socket.push(Buffer.from('a'))
    // It comes behind those that wait, though it has sent before.
    sockets[0]?.push(Buffer.from('b'))
    expect(world.seen).toEqual(['1a'])
    await world.settle()
    expect(world.seen).toEqual(['1a', '2a', '3a', '1b'])
  })

  it('is not added to while some of it waits, and then is', async () => {
    const world = new World()
    const socket = world.socket()
    await begun(world, socket)
    expect(socket.push(Buffer.from('a'))).toBe(true)
    const reads = socket.reads
    expect(socket.push(Buffer.from('b'))).toBe(false)
    expect(socket.push(Buffer.from('c'))).toBe(false)
    socket.read(1)
    expect(socket.reads).toBe(reads)
    await world.settle()
    expect(socket.reads).toBeGreaterThan(reads)
  })

  it('ends behind what waits', async () => {
    const world = new World()
    const socket = world.socket()
    await begun(world, socket)
    for (const bytes of [Buffer.from('a'), Buffer.from('b'), null]) socket.push(bytes)
    await world.settle()
    expect(world.seen).toEqual(['a', 'b', 'end'])
  })

  it('is forgotten with its connection, and others go on', async () => {
    const world = new World()
    const [first, second] = [world.socket('1'), world.socket('2')]
    for (const socket of [first, second]) await begun(world, socket)
    first.push(Buffer.from('a'))
    for (const socket of [first, second]) socket.push(Buffer.from('b'))
    first.destroy()
    await world.settle()
    expect(world.seen).toEqual(['1a', '2b'])
    expect(world.turns.isFree).toBe(true)
  })
})
