import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  beginLink,
  isOpen,
  type LinkFailure,
  type LinkInput,
  type LinkOutput,
  type LinkState,
  MAX_RETRY_AFTER_MS,
  phaseOf,
  RECONNECT_FIRST_MS,
  RECONNECT_MAX_MS,
  REFUSED_RETRY_MAX_MS,
  REFUSED_RETRY_MIN_MS,
  STABLE_SESSION_MS,
  step,
} from './link-core.ts'

const lost: LinkFailure = { code: 'carrier-lost', message: 'gone', isFinal: false, retryAfterMs: undefined }
const refused: LinkFailure = { code: 'certificate-revoked', message: 'no', isFinal: true, retryAfterMs: undefined }

/** A link whose time and dice are the test's. */
class Link {
  state: LinkState = beginLink(0)
  nowMs = 0
  roll = 1

  feed(input: LinkInput): string[] {
    const { state, outputs } = step(this.state, input, { nowMs: this.nowMs, random: () => this.roll })
    this.state = state
    return outputs.map(written)
  }

  get phase(): string {
    return phaseOf(this.state)
  }

  /** A link with session 1 up for `ageMs`. */
  static up(ageMs = STABLE_SESSION_MS): Link {
    const link = new Link()
    link.feed({ type: 'tick' })
    link.feed({ type: 'dialled', attempt: 1 })
    link.nowMs += ageMs
    return link
  }
}

function written(output: LinkOutput): string {
  return `${output.type} ${'attempt' in output ? output.attempt : output.session}`
}

describe('a link', () => {
  it('dials at once, and is up when the hub has answered', () => {
    const link = new Link()
    expect(link.phase).toBe('down')
    expect(link.feed({ type: 'tick' })).toEqual(['dial 1'])
    expect(link.phase).toBe('connecting')
    expect(link.feed({ type: 'dialled', attempt: 1 })).toEqual([])
    expect([link.phase, isOpen(link.state)]).toEqual(['up', true])
  })

  it('waits longer after each failure, never longer than the maximum, drawn from nothing on', () => {
    const link = new Link()
    link.feed({ type: 'tick' })
    const waits: number[] = []
    for (let attempt = 1; attempt <= 8; attempt++) {
      link.feed({ type: 'failed', attempt, failure: lost })
      expect(link.phase).toBe('down')
      waits.push((link.state.attemptAtMs ?? 0) - link.nowMs)
      expect(link.feed({ type: 'tick' })).toEqual([])
      link.nowMs = link.state.attemptAtMs ?? 0
      expect(link.feed({ type: 'tick' })).toEqual([`dial ${attempt + 1}`])
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, RECONNECT_MAX_MS, RECONNECT_MAX_MS, RECONNECT_MAX_MS])
    link.roll = 0
    link.feed({ type: 'failed', attempt: 9, failure: lost })
    expect(link.state.attemptAtMs).toBe(link.nowMs)
  })

  it('leaves a hub that says no in peace for minutes, until there is a new certificate', () => {
    const link = new Link()
    link.feed({ type: 'tick' })
    link.feed({ type: 'failed', attempt: 1, failure: refused })
    expect(link.state.attemptAtMs).toBe(REFUSED_RETRY_MAX_MS)
    expect(link.feed({ type: 'rotated' })).toEqual(['dial 2'])
    link.roll = 0
    link.feed({ type: 'failed', attempt: 2, failure: refused })
    expect(link.state.attemptAtMs).toBe(REFUSED_RETRY_MIN_MS)
  })

  it('comes back when the hub asked it to, spread out, and not later than is sensible', () => {
    const link = new Link()
    link.feed({ type: 'tick' })
    link.feed({ type: 'failed', attempt: 1, failure: { ...lost, retryAfterMs: 7_000 } })
    expect(link.state.attemptAtMs).toBe(7_000 + RECONNECT_FIRST_MS)
    link.feed({ type: 'rotated' })
    link.feed({ type: 'failed', attempt: 2, failure: { ...lost, retryAfterMs: 1e12 } })
    expect(link.state.attemptAtMs).toBe(MAX_RETRY_AFTER_MS + 2 * RECONNECT_FIRST_MS)
  })

  it('tries soon after a session that lived is lost, and backs off from a hub that ends every one', () => {
    const link = Link.up()
    link.feed({ type: 'ended', session: 1, failure: lost })
    expect(link.phase).toBe('down')
    expect(link.state).toMatchObject({ failure: lost, changedMs: link.nowMs, failures: 0 })
    expect(link.state.attemptAtMs).toBe(link.nowMs + RECONNECT_FIRST_MS)
    const waits: number[] = []
    for (let session = 2; session < 8; session++) {
      link.nowMs = link.state.attemptAtMs ?? 0
      link.feed({ type: 'tick' })
      link.feed({ type: 'dialled', attempt: session })
      link.feed({ type: 'ended', session, failure: lost })
      waits.push((link.state.attemptAtMs ?? 0) - link.nowMs)
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, RECONNECT_MAX_MS])
  })
})

describe('a hand-over', () => {
  it('drains the old session only when the new one has answered', () => {
    const link = Link.up()
    expect(link.feed({ type: 'rotated' })).toEqual(['dial 2'])
    expect([link.phase, isOpen(link.state)]).toEqual(['handing-over', true])
    expect(link.feed({ type: 'dialled', attempt: 2 })).toEqual(['drain 1'])
    expect(link.phase).toBe('up')
    expect(link.feed({ type: 'ended', session: 1, failure: lost })).toEqual([])
    expect([link.phase, link.state.failure]).toEqual(['up', undefined])
  })

  it('after a go-away opens no more on the old session, and keeps it until a new one is up', () => {
    const link = Link.up()
    expect(link.feed({ type: 'go-away', session: 1 })).toEqual([])
    expect([link.phase, isOpen(link.state), link.state.changedMs]).toEqual(['handing-over', false, link.nowMs])
    link.nowMs += RECONNECT_FIRST_MS
    expect(link.feed({ type: 'tick' })).toEqual(['dial 2'])
    link.feed({ type: 'failed', attempt: 2, failure: lost })
    expect(link.phase).toBe('handing-over')
    link.nowMs += RECONNECT_MAX_MS
    expect(link.feed({ type: 'tick' })).toEqual(['dial 3'])
    expect(link.feed({ type: 'dialled', attempt: 3 })).toEqual(['drain 1'])
    expect(isOpen(link.state)).toBe(true)
  })

  it('that fails keeps the session it has', () => {
    const link = Link.up()
    link.feed({ type: 'rotated' })
    expect(link.feed({ type: 'failed', attempt: 2, failure: refused })).toEqual([])
    expect([link.phase, isOpen(link.state)]).toEqual(['handing-over', true])
  })

  it('closes the session before the last, so that there are never more than two', () => {
    const link = Link.up()
    link.feed({ type: 'rotated' })
    link.feed({ type: 'dialled', attempt: 2 })
    link.feed({ type: 'address-changed' })
    expect(link.feed({ type: 'dialled', attempt: 3 })).toEqual(['close 1', 'drain 2'])
  })

  it('begun again makes the attempt under way pointless', () => {
    const link = Link.up()
    link.feed({ type: 'rotated' })
    expect(link.feed({ type: 'rotated' })).toEqual(['abandon 2', 'dial 3'])
    expect(link.feed({ type: 'dialled', attempt: 2 })).toEqual(['close 2'])
    expect(link.feed({ type: 'failed', attempt: 2, failure: refused })).toEqual([])
    expect(link.feed({ type: 'dialled', attempt: 3 })).toEqual(['drain 1'])
  })
})

describe('time that passed unseen', () => {
  it('makes a session prove that it lives, and one that does not is replaced', () => {
    const link = Link.up()
    expect(link.feed({ type: 'resumed' })).toEqual(['probe 1'])
    expect(link.phase).toBe('up')
    link.feed({ type: 'silent', session: 1 })
    expect([link.phase, isOpen(link.state)]).toEqual(['handing-over', false])
    link.nowMs += RECONNECT_FIRST_MS
    expect(link.feed({ type: 'tick' })).toEqual(['dial 2'])
  })

  it('ends every wait, and begins an attempt anew', () => {
    const link = new Link()
    link.feed({ type: 'tick' })
    link.feed({ type: 'failed', attempt: 1, failure: refused })
    expect(link.feed({ type: 'resumed' })).toEqual(['dial 2'])
    expect(link.feed({ type: 'resumed' })).toEqual(['abandon 2', 'dial 3'])
  })
})

describe('stopping', () => {
  it('drains what serves, gives up what is under way, and dials no more', () => {
    const link = Link.up()
    link.feed({ type: 'rotated' })
    expect(link.feed({ type: 'stop' })).toEqual(['abandon 2', 'drain 1'])
    expect([link.phase, isOpen(link.state)]).toEqual(['draining', false])
    expect(link.feed({ type: 'dialled', attempt: 2 })).toEqual(['close 2'])
    link.feed({ type: 'ended', session: 1, failure: lost })
    expect(link.state.serving).toBeUndefined()
    link.nowMs += 1e9
    expect([...link.feed({ type: 'tick' }), ...link.feed({ type: 'resumed' })]).toEqual([])
  })
})

describe('any order of events', () => {
  const kinds = ['tick', 'dialled', 'failed', 'ended', 'go-away', 'silent', 'rotated', 'address-changed', 'resumed']
  const event = fc.record({
    kind: fc.constantFrom(...kinds),
    back: fc.nat(3),
    waitMs: fc.nat(60_000),
    roll: fc.double({ min: 0, max: 0.999, noNaN: true }),
  })

  it('leaves at most two sessions and one attempt, and always a way back up', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const link = new Link()
        const sessions = new Set<number>()
        const attempts = new Set<number>()
        for (const { kind, back, waitMs, roll } of events) {
          link.nowMs += waitMs
          link.roll = roll
          const id = link.state.lastId - back
          const answers = attempts.has(id)
          if ((kind === 'dialled' || kind === 'failed') && !answers) continue
          if ((kind === 'ended' || kind === 'go-away' || kind === 'silent') && !sessions.has(id)) continue
          if (kind === 'dialled') sessions.add(id)
          if (kind === 'dialled' || kind === 'failed') attempts.delete(id)
          if (kind === 'ended') sessions.delete(id)
          for (const output of link.feed({ type: kind, attempt: id, session: id, failure: lost } as LinkInput)) {
            const [what, number] = output.split(' ')
            if (what === 'dial') attempts.add(Number(number))
            if (what === 'abandon') attempts.delete(Number(number))
            if (what === 'close') sessions.delete(Number(number))
          }
          expect(sessions.size).toBeLessThanOrEqual(2)
          expect(attempts.size).toBeLessThanOrEqual(1)
          const { serving, attempt, attemptAtMs } = link.state
          if (serving === undefined || serving.isLeaving) expect(attempt ?? attemptAtMs).toBeDefined()
        }
      }),
    )
  })
})
