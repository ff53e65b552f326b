import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  beginReach,
  DECISIVE_PROBES,
  PROBE_GAP_MS,
  PROBE_IDLE_MS,
  PROBE_RETRY_FIRST_MS,
  PROBE_RETRY_MAX_MS,
  type ProbeOutcome,
  type ReachInput,
  type ReachState,
  type Refused,
  step,
  UNREADY_PATIENCE_MS,
} from './reach-core.ts'

const startMs = Date.UTC(2026, 0, 1)

/** Reach whose time and dice are the test's. */
class Driven {
  nowMs = 0
  roll = 0
  state: ReachState

  constructor(refusedBefore?: Refused) {
    this.state = beginReach({ nowMs: 0, wallMs: startMs }, refusedBefore)
  }

  feed(input: ReachInput): string[] {
    const context = { nowMs: this.nowMs, wallMs: startMs + this.nowMs, random: () => this.roll }
    const { state, outputs } = step(this.state, input, context)
    this.state = state
    return outputs.map(({ type, probe }) => `${type} ${probe}`)
  }

  link(isUp: boolean, refusal?: string): string[] {
    return this.feed({ type: 'link', isUp, refusal, why: isUp ? '' : 'the cable is pulled' })
  }

  /** Settles the probe that is under way. */
  settle(outcome: ProbeOutcome): string[] {
    return this.feed({ type: 'probed', probe: this.state.probe ?? 0, result: { outcome, why: outcome } })
  }

  /** Lets the time of the next probe come. */
  untilProbe(): number {
    const waitedMs = (this.state.probeAtMs ?? this.nowMs) - this.nowMs
    this.nowMs += waitedMs
    this.feed({ type: 'tick' })
    return waitedMs
  }

  static online(): Driven {
    const reach = new Driven()
    reach.link(true)
    reach.settle('ready')
    return reach
  }
}

describe('reach', () => {
  it('begins offline, probes as soon as the link is up, and is online when the API server is ready', () => {
    const reach = new Driven()
    expect(reach.state).toMatchObject({ name: 'offline', why: 'the API server has not answered yet' })
    expect(reach.feed({ type: 'tick' })).toEqual([])
    expect(reach.link(true)).toEqual(['probe 1'])
    expect(reach.state.name).toBe('offline')
    reach.nowMs = 40
    expect(reach.settle('ready')).toEqual([])
    expect(reach.state).toMatchObject({ name: 'online', changedMs: 40, sinceMs: startMs + 40 })
  })

  it('is offline the moment the link is down, and stays so when it is up again until the API server is ready', () => {
    const reach = Driven.online()
    reach.nowMs = 5_000
    reach.link(false)
    expect(reach.state).toMatchObject({ name: 'offline', why: 'the cable is pulled', changedMs: 5_000 })
    reach.nowMs = 9_000
    expect(reach.link(true)).toEqual(['probe 2'])
    expect(reach.state).toMatchObject({ name: 'offline', changedMs: 5_000 })
    reach.settle('ready')
    expect(reach.state).toMatchObject({ name: 'online', changedMs: 9_000 })
  })

  it('abandons a probe with its link, and does not hear its answer any more', () => {
    const reach = new Driven()
    reach.link(true)
    expect(reach.link(false)).toEqual(['abandon 1'])
    reach.feed({ type: 'probed', probe: 1, result: { outcome: 'ready', why: '' } })
    expect(reach.state.name).toBe('offline')
    reach.link(true)
    reach.feed({ type: 'probed', probe: 1, result: { outcome: 'ready', why: '' } })
    expect(reach.state).toMatchObject({ name: 'offline', probe: 2 })
  })

  it('needs two probes in a row that nobody answers', () => {
    const reach = Driven.online()
    reach.nowMs = 5_000
    expect(reach.feed({ type: 'doubted' })).toEqual(['probe 2'])
    reach.settle('failed')
    expect(reach.state).toMatchObject({ name: 'online', failures: 1 })
    expect(reach.untilProbe()).toBe(PROBE_GAP_MS)
    reach.settle('failed')
    expect(reach.state).toMatchObject({ name: 'offline', failures: DECISIVE_PROBES, why: 'failed' })
  })

  it('begins to count again at any answer', () => {
    const reach = Driven.online()
    reach.nowMs = 5_000
    reach.feed({ type: 'doubted' })
    reach.settle('failed')
    reach.feed({ type: 'answered' })
    expect(reach.state).toMatchObject({ name: 'online', failures: 0 })
    reach.nowMs += PROBE_IDLE_MS
    reach.feed({ type: 'tick' })
    reach.settle('failed')
    expect(reach.state).toMatchObject({ name: 'online', failures: 1 })
  })

  it('stays online while the API server answers, however badly', () => {
    const reach = Driven.online()
    for (let round = 0; round < 50; round++) {
      reach.untilProbe()
      reach.settle('unready')
      reach.feed({ type: 'answered' })
      expect(reach.state.name).toBe('online')
    }
  })

  it('probes only when nobody else has had an answer for a while', () => {
    const reach = Driven.online()
    expect(reach.state.probeAtMs).toBe(0.9 * PROBE_IDLE_MS)
    reach.nowMs = 8_000
    reach.feed({ type: 'answered' })
    reach.nowMs = 9_000
    expect(reach.feed({ type: 'tick' })).toEqual([])
    expect(reach.state.probeAtMs).toBe(8_000 + PROBE_IDLE_MS)
    reach.nowMs = 18_000
    expect(reach.feed({ type: 'tick' })).toEqual(['probe 2'])
  })

  it('sends one probe for a crowd of doubts, and another for those that came while it was under way', () => {
    const reach = Driven.online()
    reach.nowMs = 5_000
    expect([1, 2, 3].flatMap(() => reach.feed({ type: 'doubted' }))).toEqual(['probe 2'])
    reach.nowMs = 5_100
    reach.settle('ready')
    // An answer to somebody else does not still a doubt: a probe was asked for.
    reach.nowMs = 5_200
    reach.feed({ type: 'answered' })
    expect(reach.untilProbe()).toBe(PROBE_GAP_MS - 100)
    expect(reach.state.probe).toBe(3)
    reach.settle('ready')
    expect(reach.untilProbe()).toBe(0.9 * PROBE_IDLE_MS)
  })

  it('waits longer after each fruitless probe, never longer than the maximum', () => {
    const reach = new Driven()
    reach.roll = 1
    reach.link(true)
    const waits = Array.from({ length: 6 }, () => {
      reach.settle('failed')
      return reach.untilProbe()
    })
    expect(waits).toEqual([PROBE_RETRY_FIRST_MS, 2_000, 4_000, 8_000, PROBE_RETRY_MAX_MS, PROBE_RETRY_MAX_MS])
    reach.roll = 0
    reach.settle('failed')
    expect(reach.untilProbe()).toBe(PROBE_RETRY_MAX_MS / 2)
  })

  it('leaves a starting API server alone until it is ready, but not one that never is', () => {
    const reach = new Driven()
    reach.link(true)
    while (reach.nowMs < UNREADY_PATIENCE_MS) {
      reach.settle('unready')
      expect(reach.state).toMatchObject({ name: 'offline', why: 'unready' })
      reach.untilProbe()
    }
    reach.settle('unready')
    expect(reach.state.name).toBe('online')
  })

  it('asks at once, and believes only that, when somebody has got an answer while offline', () => {
    const reach = new Driven()
    reach.link(true)
    reach.settle('failed')
    reach.nowMs = PROBE_GAP_MS
    expect(reach.feed({ type: 'answered' })).toEqual(['probe 2'])
    expect(reach.state.name).toBe('offline')
    reach.link(false)
    expect(reach.feed({ type: 'answered' })).toEqual([])
    expect(reach.state.name).toBe('offline')
  })

  it('learns nothing from a probe that could not be sent', () => {
    const reach = Driven.online()
    for (let round = 0; round < 5; round++) {
      reach.untilProbe()
      reach.settle('unknown')
    }
    expect(reach.state).toMatchObject({ name: 'online', failures: 0 })
  })
})

describe('a refusal', () => {
  it('of the hub lasts until a hub takes the node again, whatever becomes of the link', () => {
    const reach = Driven.online()
    reach.link(false)
    reach.link(false, 'node a was forgotten')
    expect(reach.state).toMatchObject({ name: 'refused', refusedBy: 'hub', why: 'node a was forgotten' })
    reach.link(false)
    expect(reach.state).toMatchObject({ name: 'refused', why: 'node a was forgotten' })
    reach.link(true)
    expect(reach.state).toMatchObject({ name: 'offline', refusedBy: undefined })
    reach.settle('ready')
    expect(reach.state.name).toBe('online')
  })

  it('of the API server needs two probes, and lasts until it takes the certificate again', () => {
    const reach = Driven.online()
    reach.nowMs = 5_000
    reach.feed({ type: 'doubted' })
    reach.settle('rejected')
    expect(reach.state.name).toBe('online')
    // The tokens of pods are still good: that says nothing about the node.
    reach.feed({ type: 'answered' })
    expect(reach.untilProbe()).toBe(PROBE_GAP_MS)
    reach.settle('rejected')
    expect(reach.state).toMatchObject({ name: 'refused', refusedBy: 'api-server' })
    for (const outcome of ['failed', 'unready', 'unknown', 'rejected'] as const) {
      reach.untilProbe()
      reach.settle(outcome)
      reach.feed({ type: 'answered' })
      expect([outcome, reach.state.name]).toEqual([outcome, 'refused'])
    }
    reach.link(false)
    reach.link(false, 'node a was forgotten')
    expect(reach.state).toMatchObject({ name: 'refused', refusedBy: 'hub', why: 'node a was forgotten' })
    reach.link(true)
    expect(reach.state).toMatchObject({ name: 'refused', refusedBy: 'api-server' })
    reach.settle('ready')
    expect(reach.state).toMatchObject({ name: 'online', refusedBy: undefined })
  })

  it('is remembered from the process before', () => {
    const ofHub = new Driven({ by: 'hub', why: 'forgotten' })
    ofHub.link(false)
    expect(ofHub.state).toMatchObject({ name: 'refused', why: 'forgotten' })
    const ofServer = new Driven({ by: 'api-server', why: '401' })
    ofServer.link(true)
    expect(ofServer.state.name).toBe('refused')
    ofServer.settle('ready')
    expect(ofServer.state.name).toBe('online')
  })
})

const outcomes: readonly ProbeOutcome[] = ['ready', 'unready', 'rejected', 'failed', 'unknown']
const events = fc.oneof(
  fc.record({ type: fc.constant('link' as const), isUp: fc.boolean(), isRefused: fc.boolean() }),
  fc.record({ type: fc.constantFrom('answered' as const, 'doubted' as const) }),
  fc.record({ type: fc.constant('settle' as const), outcome: fc.constantFrom(...outcomes) }),
  fc.record({ type: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
)

describe('reach, whatever happens', () => {
  it('keeps what must stay true', () => {
    fc.assert(
      fc.property(
        fc.array(events, { maxLength: 120 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (list, roll) => {
          const reach = new Driven()
          reach.roll = roll
          let failedInARow = 0
          let rejectedInARow = 0
          let probesUnderWay = 0
          let lastEndMs = Number.NEGATIVE_INFINITY
          for (const event of list) {
            const { state: before } = reach
            if (event.type === 'wait') reach.nowMs += event.ms
            if (event.type === 'settle' && before.probe === undefined) continue
            const isSettled = event.type === 'settle'
            const outputs = inputTo(reach, event)
            if (isSettled) {
              probesUnderWay -= 1
              failedInARow =
                event.outcome === 'failed' ? failedInARow + 1 : event.outcome === 'unknown' ? failedInARow : 0
              rejectedInARow =
                event.outcome === 'rejected'
                  ? rejectedInARow + 1
                  : event.outcome === 'unknown' || event.outcome === 'failed'
                    ? rejectedInARow
                    : 0
              lastEndMs = reach.nowMs
            }
            if (event.type === 'answered') failedInARow = 0
            for (const output of outputs) {
              const isProbe = output.startsWith('probe')
              probesUnderWay += isProbe ? 1 : -1
              if (isProbe && event.type !== 'link') expect(reach.nowMs - lastEndMs).toBeGreaterThanOrEqual(PROBE_GAP_MS)
            }
            const { state } = reach
            expect(probesUnderWay).toBe(state.probe === undefined ? 0 : 1)
            // A probe is under way or due for as long as there is a link, or the state would never change again.
            expect(state.probe !== undefined || state.probeAtMs !== undefined).toBe(state.isLinkUp)
            if (!state.isLinkUp) expect(state.name).not.toBe('online')
            if (before.name !== 'online' && state.name === 'online') expect(isSettled).toBe(true)
            if (before.name === 'online' && state.name === 'offline' && state.isLinkUp)
              expect(failedInARow).toBeGreaterThanOrEqual(DECISIVE_PROBES)
            if (before.refusedBy !== 'api-server' && state.refusedBy === 'api-server')
              expect(rejectedInARow).toBeGreaterThanOrEqual(DECISIVE_PROBES)
            if (before.name === 'refused' && state.name !== 'refused')
              expect((event.type === 'link' && event.isUp) || (isSettled && event.outcome === 'ready')).toBe(true)
            if (before.name === state.name) expect(state.changedMs).toBe(before.changedMs)
          }
        },
      ),
    )
  })
})

type Event = typeof events extends fc.Arbitrary<infer T> ? T : never

function inputTo(reach: Driven, event: Event): string[] {
  switch (event.type) {
    case 'link':
      return reach.link(event.isUp, event.isRefused ? 'forgotten' : undefined)
    case 'settle':
      return reach.settle(event.outcome)
    case 'wait':
      return reach.feed({ type: 'tick' })
    default:
      return reach.feed({ type: event.type })
  }
}
