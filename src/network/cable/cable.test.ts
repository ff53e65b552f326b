import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { Cable } from './cable.ts'
import { MAX_CABLE_HELD_BYTES } from './cabled-stream.ts'

let server: Server
let clock: ManualClock
let cable: Cable
/** The far ends. */
let accepted: Socket[]
const patient = new AbortController().signal
const whole = { isCut: false, delayMs: 0 }
const cut = { isCut: true, delayMs: 0 }

beforeEach(async () => {
  accepted = []
  clock = new ManualClock()
  cable = new Cable(clock)
  server = createServer({ allowHalfOpen: true }, (socket) => accepted.push(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterEach(async () => {
  cable.close()
  for (const socket of accepted) socket.destroy()
  server.close()
  await once(server, 'close')
  expect(clock.pending).toBe(0)
  expect(cable.status.connections).toBe(0)
})

function target() {
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

async function connected(): Promise<{ near: Duplex; far: Socket }> {
  const [near] = await Promise.all([cable.dial(target(), patient), once(server, 'connection')])
  const far = accepted.at(-1)
  if (far === undefined) throw new Error('nobody was accepted')
  near.on('error', () => {})
  return { near, far }
}

/** What a reader has got so far. */
function gather(stream: Duplex): { text: string; isEnded: boolean; isClosed: boolean } {
  const got = { text: '', isEnded: false, isClosed: false }
  stream.on('data', (bytes: Buffer) => {
    got.text += bytes.toString()
  })
  stream.once('end', () => {
    got.isEnded = true
  })
  stream.once('close', () => {
    got.isClosed = true
  })
  return got
}

/** Lets the kernel carry over loopback whatever is on its way: a byte over another connection comes after it. */
async function kernelSettled(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    const direct = await new Cable(clock).dial(target(), patient)
    direct.on('error', () => {})
    direct.destroy()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('a cable', () => {
  it('carries both ways, half-closes, and tells of its connections', async () => {
    const { near, far } = await connected()
    const up = gather(far)
    const down = gather(near)
    near.end('hello')
    await expect.poll(() => up).toMatchObject({ text: 'hello', isEnded: true })
    expect(cable.status).toEqual({
      state: 'whole',
      since: expect.any(String),
      delayMs: 0,
      connections: 1,
      next: undefined,
    })
    far.end('world')
    await expect.poll(() => down).toEqual({ text: 'world', isEnded: true, isClosed: true })
    await expect.poll(() => cable.status.connections).toBe(0)
  })

  it('swallows everything while it is cut, and goes on where it was', async () => {
    const { near, far } = await connected()
    const up = gather(far)
    const down = gather(near)
    near.write('a')
    far.write('b')
    await expect.poll(() => [up.text, down.text]).toEqual(['a', 'b'])
    cable.change(cut)
    near.write('c')
    far.write('d')
    await kernelSettled()
    await clock.advance(60_000)
    expect([up.text, down.text]).toEqual(['a', 'b'])
    expect(cable.status.state).toBe('cut')
    cable.change(whole)
    await expect.poll(() => [up.text, down.text]).toEqual(['ac', 'bd'])
  })

  it('keeps from each end that the other has gone, until it is whole', async () => {
    const first = await connected()
    const second = await connected()
    const farSees = gather(first.far)
    const nearSees = gather(second.near)
    cable.change(cut)
    first.near.destroy()
    second.far.resetAndDestroy()
    await kernelSettled()
    await clock.advance(60_000)
    expect([farSees.isClosed, farSees.isEnded, nearSees.isClosed]).toEqual([false, false, false])
    expect(cable.status.connections).toBe(2)
    cable.change(whole)
    await expect.poll(() => [farSees.isEnded, nearSees.isClosed]).toEqual([true, true])
    await expect.poll(() => cable.status.connections).toBe(0)
  })

  it('leaves a dial without an answer while it is cut', async () => {
    cable.change(cut)
    const impatient = new AbortController()
    const given = cable.dial(target(), impatient.signal)
    const kept = cable.dial(target(), patient)
    await kernelSettled()
    impatient.abort(new Error('no connection within 10 s'))
    await expect(given).rejects.toThrow('no connection within 10 s')
    expect(cable.status.connections).toBe(0)
    cable.change(whole)
    const near = await kept
    const down = gather(near)
    await expect.poll(() => accepted.length).toBeGreaterThan(0)
    near.destroy()
    await expect.poll(() => down.isClosed).toBe(true)
  })

  it('delays every byte by as much in each direction, and lets what was sent arrive', async () => {
    cable.change({ isCut: false, delayMs: 100 })
    const dialled = connected()
    await expect.poll(() => clock.pending).toBe(1)
    await clock.advance(199)
    expect(cable.status.connections).toBe(0)
    await clock.advance(1)
    const { near, far } = await dialled
    const up = gather(far)
    near.write('a')
    near.destroy()
    await clock.advance(99)
    await kernelSettled()
    expect(up).toMatchObject({ text: '', isEnded: false })
    await clock.advance(1)
    await expect.poll(() => up).toMatchObject({ text: 'a', isEnded: true })
  })

  it('holds no more than its limit of what is sent', async () => {
    const { near } = await connected()
    cable.change(cut)
    const piece = Buffer.alloc(1024 * 1024)
    let taken = 0
    const write = (): void => {
      near.write(piece, () => {
        taken += piece.length
        write()
      })
    }
    write()
    await kernelSettled()
    expect(taken).toBeLessThan(MAX_CABLE_HELD_BYTES)
    near.destroy()
  })

  it('changes later if asked to; the last word counts', async () => {
    cable.change(cut, 5_000)
    const at = new Date(clock.nowMs() + 5_000).toISOString()
    expect(cable.status).toMatchObject({ state: 'whole', next: { state: 'cut', at, delayMs: 0 } })
    await clock.advance(5_000)
    expect(cable.status).toMatchObject({ state: 'cut', since: at, next: undefined })
    cable.change({ isCut: false, delayMs: 7 }, 1_000)
    cable.change(cut, 2_000)
    await clock.advance(1_500)
    expect(cable.status).toMatchObject({ state: 'cut', since: at, delayMs: 0 })
    cable.change({ isCut: false, delayMs: 7 })
    expect(cable.status).toMatchObject({ state: 'whole', delayMs: 7, next: undefined })
    expect(clock.pending).toBe(0)
  })
})
