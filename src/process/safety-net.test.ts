import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { CAUGHT_ERRORS_LOG_BURST, SafetyNet } from './safety-net.ts'

function world() {
  const clock = new ManualClock()
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) }
  const logger = createLogger({ level: 'error', format: 'json', clock, destination })
  const registry = new Registry()
  const net = new SafetyNet({ clock, logger, registry })
  const count = async (place: string): Promise<number | undefined> => {
    const { values = [] } = (await registry.getSingleMetric('causeway_caught_errors_total')?.get()) ?? {}
    return values.find(({ labels }) => labels['place'] === place)?.value
  }
  return { clock, lines, registry, logger, net, count }
}

function fail(): never {
  throw new Error('oh')
}

describe('a guard', () => {
  it('catches what is thrown and what is rejected, cuts, counts and logs', async () => {
    const { net, lines, count } = world()
    const cut = vi.fn()
    const guard = net.guard('request', cut)
    guard(fail)
    guard(async () => {
      await Promise.resolve()
      fail()
    })
    guard(() => 'well')
    await vi.waitFor(() => expect(cut).toHaveBeenCalledTimes(2))
    expect(await count('request')).toBe(2)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatchObject({ level: 'error', place: 'request', err: { message: 'oh' } })
  })

  it('lets nothing out where the cut itself fails', async () => {
    const { net, count } = world()
    net.guard('session', fail)(fail)
    expect(await count('session')).toBe(2)
  })

  it('fills no log for a peer that goes on and on, and says what it left out', async () => {
    const { net, clock, lines, count } = world()
    const guard = net.guard('connection', () => {})
    for (let each = 0; each < 1_000; each++) guard(fail)
    expect(lines).toHaveLength(CAUGHT_ERRORS_LOG_BURST)
    expect(await count('connection')).toBe(1_000)
    await clock.advance(1_000)
    guard(fail)
    expect(lines.at(-1)).toMatchObject({ unlogged: 1_000 - CAUGHT_ERRORS_LOG_BURST })
  })
})

describe('an emitter that is watched', () => {
  it('is destroyed when a listener throws, out of the way of whoever emits', async () => {
    const { net, count } = world()
    const stream = net.watch(new PassThrough(), 'connection')
    stream.on('data', fail)
    stream.write('x')
    await vi.waitFor(() => expect(stream.destroyed).toBe(true))
    expect(await count('connection')).toBe(1)
  })

  it('tells everybody of its end, whoever fails before them', async () => {
    const { net, count } = world()
    const released = vi.fn()
    const stream = net.watch(new PassThrough(), 'stream').once('close', fail).once('close', released)
    stream.destroy()
    await vi.waitFor(() => expect(released).toHaveBeenCalledOnce())
    expect(await count('stream')).toBe(1)
    expect(stream.listenerCount('close')).toBe(0)
  })

  it('has no error that ends the process because nobody listens', async () => {
    const { net, count } = world()
    const stream = net.watch(new PassThrough(), 'connection')
    stream.destroy(new Error('reset by peer'))
    await vi.waitFor(async () => expect(await count('connection')).toBe(1))
  })

  it('as a server goes on, and cuts what came with the event', async () => {
    const { net, count } = world()
    const server = new EventEmitter()
    net.watchServer(server)
    server.on('connection', fail)
    const socket = new PassThrough()
    server.emit('connection', socket)
    expect(socket.destroyed).toBe(true)
    expect(await count('listener')).toBe(1)
  })
})

it('a timer ends nothing but itself', async () => {
  const { net, clock, count } = world()
  const timers = net.timers(clock)
  timers.schedule(10, fail)
  await clock.advance(30)
  expect(await count('timer')).toBe(1)
})

it('the nets of a process with one registry share one number', async () => {
  const { net, clock, logger, registry, count } = world()
  net.caught('process', new Error('one'))
  new SafetyNet({ clock, logger, registry }).caught('process', new Error('two'))
  expect(await count('process')).toBe(2)
})
