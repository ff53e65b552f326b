import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { CARRIER_MEMORY_MS, CarrierMemory } from './carrier-memory.ts'

const hub = new URL('https://hub.example:10000')
const other = new URL('https://other.example:10000')

describe('CarrierMemory', () => {
  let clock: ManualClock
  let memory: CarrierMemory
  const first = (url = hub) => memory.order(url)[0]

  beforeEach(() => {
    clock = new ManualClock()
    memory = new CarrierMemory(clock)
  })

  it('begins with TLS and always knows two', () => {
    expect(memory.order(hub)).toEqual(['tls', 'websocket'])
    memory.worked(hub, 'websocket')
    expect(memory.order(hub)).toEqual(['websocket', 'tls'])
  })

  it('knows one hub from another', () => {
    memory.worked(hub, 'websocket')
    expect([first(hub), first(other)]).toEqual(['websocket', 'tls'])
  })

  it('is not made to last by using it', async () => {
    memory.worked(hub, 'websocket')
    await clock.advance(CARRIER_MEMORY_MS - 1)
    memory.worked(hub, 'websocket')
    expect(first()).toBe('websocket')
    await clock.advance(1)
    expect(first()).toBe('tls')
    memory.worked(hub, 'websocket')
    expect(first()).toBe('websocket')
  })

  it.each([
    ['TLS works', () => memory.worked(hub, 'tls')],
    ['nothing works', () => memory.failed(hub)],
  ])('ends when %s', (_, happen) => {
    memory.worked(hub, 'websocket')
    happen()
    expect(first()).toBe('tls')
  })
})
