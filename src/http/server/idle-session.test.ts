import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { endWhenIdle } from './idle-session.ts'
import { IDLE_CONNECTION_MS, MAX_UNANSWERED_PINGS } from './limits.ts'

function session(clock: ManualClock, pingMs?: number) {
  const state = { closed: false, answers: true, pings: 0 }
  const watched = {
    openStreams: 0,
    idleSinceMs: clock.monotonicMs(),
    close: (): void => {
      state.closed = true
    },
    destroy: (): void => {
      state.closed = true
    },
    ping: (answered: () => void): void => {
      state.pings += 1
      if (state.answers) answered()
    },
  }
  const stop = endWhenIdle(watched, clock, pingMs)
  /** Returns how to end it. */
  const open = (): (() => void) => {
    watched.openStreams += 1
    return () => {
      watched.openStreams -= 1
      watched.idleSinceMs = clock.monotonicMs()
    }
  }
  return { state, open, stop }
}

describe('endWhenIdle', () => {
  it('ends a session that never asked for anything', async () => {
    const clock = new ManualClock()
    const { state } = session(clock)
    await clock.advance(IDLE_CONNECTION_MS - 1)
    expect(state.closed).toBe(false)
    await clock.advance(1)
    expect(state.closed).toBe(true)
  })

  it('keeps one with a stream, and counts from the end of its last', async () => {
    const clock = new ManualClock()
    const { state, open } = session(clock)
    const endWatch = open()
    open()()
    await clock.advance(IDLE_CONNECTION_MS * 3)
    expect(state.closed).toBe(false)
    endWatch()
    await clock.advance(IDLE_CONNECTION_MS - 1)
    expect(state.closed).toBe(false)
    await clock.advance(IDLE_CONNECTION_MS)
    expect(state.closed).toBe(true)
  })

  it('ends one with a stream whose client has stopped to answer', async () => {
    const clock = new ManualClock()
    const { state, open } = session(clock)
    open()
    await clock.advance(IDLE_CONNECTION_MS * 10)
    expect([state.pings, state.closed]).toEqual([10, false])
    state.answers = false
    await clock.advance(IDLE_CONNECTION_MS * MAX_UNANSWERED_PINGS)
    expect(state.closed).toBe(false)
    await clock.advance(IDLE_CONNECTION_MS)
    expect(state.closed).toBe(true)
  })

  it('asks more often where it is told to, and ends idle ones no sooner for that', async () => {
    const clock = new ManualClock()
    const [busy, idle] = [session(clock, 1_000), session(clock, 1_000)]
    busy.open()
    busy.state.answers = false
    await clock.advance(1_000 * (MAX_UNANSWERED_PINGS + 1))
    expect([busy.state.closed, idle.state.closed, idle.state.pings]).toEqual([true, false, 0])
    await clock.advance(IDLE_CONNECTION_MS)
    expect(idle.state.closed).toBe(true)
  })

  it('leaves no timer behind', () => {
    const clock = new ManualClock()
    session(clock).stop()
    expect(clock.pending).toBe(0)
  })
})
