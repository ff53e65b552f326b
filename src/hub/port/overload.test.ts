import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { FailureLimiter, WorkGate } from './overload.ts'

describe('FailureLimiter', () => {
  it('refuses after a burst, says how long to wait, and forgives with time', async () => {
    const clock = new ManualClock()
    const limiter = new FailureLimiter(clock, { burst: 2, perSecond: 0.1 })
    for (let failure = 0; failure < 2; failure++) {
      limiter.check('a')
      limiter.failed('a')
    }
    expect(() => limiter.check('a')).toThrow(
      expect.objectContaining({ code: 'too-many-failures', retryAfterSeconds: 10 }),
    )
    expect(() => limiter.check('b')).not.toThrow()
    await clock.advance(9_999)
    expect(limiter.isExhausted('a')).toBe(true)
    await clock.advance(1)
    expect(limiter.isExhausted('a')).toBe(false)
  })

  it('is bounded, forgetting first who failed longest ago', () => {
    const limiter = new FailureLimiter(new ManualClock(), { burst: 1, maxAddresses: 2 })
    for (const source of ['a', 'b', 'a', 'c']) limiter.failed(source)
    expect(limiter.addresses).toBe(2)
    expect(['a', 'b', 'c'].filter((source) => limiter.isExhausted(source))).toEqual(['a', 'c'])
  })

  it('never lets more failures through than the burst and the time allow', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3_000), { maxLength: 50 }), async (pausesMs) => {
        const clock = new ManualClock()
        const limiter = new FailureLimiter(clock, { burst: 3, perSecond: 1 })
        let failures = 0
        for (const pauseMs of pausesMs) {
          await clock.advance(pauseMs)
          if (limiter.isExhausted('a')) continue
          limiter.failed('a')
          failures++
        }
        expect(failures).toBeLessThanOrEqual(3 + clock.monotonicMs() / 1000)
      }),
    )
  })
})

describe('WorkGate', () => {
  const forever = new AbortController().signal

  /** Work that ends when told to. */
  function task(): { work: () => Promise<string>; end: () => void; readonly isBegun: boolean } {
    let end = (): void => {}
    let isBegun = false
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const work = async (): Promise<string> => {
      isBegun = true
      await ended
      return 'done'
    }
    return {
      work,
      end: () => end(),
      get isBegun() {
        return isBegun
      },
    }
  }

  it('works on so many at a time, lets so many wait in order, and turns the rest away', async () => {
    const gate = new WorkGate(1, 2)
    const [first, second, third, fourth] = [task(), task(), task(), task()]
    const results = [first, second, third].map(({ work }) => gate.run(work, forever))
    await expect(gate.run(fourth.work, forever)).rejects.toMatchObject({ code: 'overloaded' })
    expect({ inFlight: gate.inFlight, queued: gate.queued, isBegun: second.isBegun }).toEqual({
      inFlight: 1,
      queued: 2,
      isBegun: false,
    })
    first.end()
    await results[0]
    await Promise.resolve()
    expect([second.isBegun, third.isBegun]).toEqual([true, false])
    second.end()
    third.end()
    expect(await Promise.all(results)).toEqual(['done', 'done', 'done'])
    expect({ inFlight: gate.inFlight, queued: gate.queued }).toEqual({ inFlight: 0, queued: 0 })
  })

  it('frees the place of work that fails, and of a client that leaves the queue', async () => {
    const gate = new WorkGate(1, 1)
    await expect(gate.run(() => Promise.reject(new Error('broken')), forever)).rejects.toThrow('broken')
    const running = task()
    const result = gate.run(running.work, forever)
    const client = new AbortController()
    const waiting = gate.run(task().work, client.signal)
    client.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'bad-request' })
    await expect(gate.run(task().work, client.signal)).rejects.toMatchObject({ code: 'bad-request' })
    expect(gate.queued).toBe(0)
    running.end()
    await result
    expect(gate.inFlight).toBe(0)
  })
})
