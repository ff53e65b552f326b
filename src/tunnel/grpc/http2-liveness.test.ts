import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { Http2Liveness } from './http2-liveness.ts'

type Pong = (error: Error | null, durationMs: number, payload: Buffer) => void

function world() {
  const clock = new ManualClock()
  const pongs: Pong[] = []
  const session = {
    destroyed: false,
    ping: (pong: Pong | Uint8Array) => pongs.push(pong as Pong) > 0,
  }
  let deaths = 0
  const received = { bytes: 0 }
  const liveness = new Http2Liveness(session, {
    clock,
    intervalMs: 10_000,
    deadAfterMs: 30_000,
    onDead: () => deaths++,
    receivedBytes: () => received.bytes,
  })
  return { clock, pongs, session, liveness, received, deaths: () => deaths }
}

describe('pings of an HTTP/2 connection', () => {
  it('measure the way while they are answered', async () => {
    const { clock, pongs, liveness, deaths } = world()
    for (let count = 0; count < 10; count++) {
      await clock.advance(10_000)
      pongs.pop()?.(null, 12, Buffer.alloc(8))
    }
    expect([liveness.rttMs, deaths()]).toEqual([12, 0])
    liveness.stop()
    expect(clock.pending).toBe(0)
  })

  it('notice a far end that answers no more, once', async () => {
    const { clock, deaths, liveness } = world()
    await clock.advance(29_999)
    expect(deaths()).toBe(0)
    await clock.advance(60_000)
    expect([deaths(), liveness.rttMs, clock.pending]).toEqual([1, undefined, 0])
  })

  it('may wait behind what comes in on a slow link, as long as something does', async () => {
    const { clock, deaths, received } = world()
    for (let count = 0; count < 20; count++) {
      received.bytes += 1
      await clock.advance(10_000)
    }
    expect(deaths()).toBe(0)
    await clock.advance(40_000)
    expect(deaths()).toBe(1)
  })

  it('end with the connection', async () => {
    const { clock, session, deaths } = world()
    session.destroyed = true
    await clock.advance(60_000)
    expect([deaths(), clock.pending]).toEqual([0, 0])
  })
})
