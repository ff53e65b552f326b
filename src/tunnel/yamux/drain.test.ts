import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { naiveFrame, SYN, WINDOW_UPDATE } from '../../../test/worlds/yamux-naive.ts'
import { Pair, type Side } from '../../../test/worlds/yamux-pair.ts'
import { Drain } from './drain.ts'
import { MAX_GO_AWAY_ANSWER_MS } from './limits.ts'

describe('a drain', () => {
  it('counts its go-away as read when a ping that followed it is answered, or a later one', () => {
    for (const answer of [7, 8, 2 ** 31]) {
      const drain = new Drain()
      drain.pinged(6)
      expect([drain.begin(0, 60_000), drain.begin(0, 60_000)]).toEqual([true, false])
      drain.pinged(7)
      drain.pinged(8)
      expect([drain.ponged(6), drain.isRead]).toEqual([false, false])
      expect([drain.ponged(answer), drain.isRead, drain.isSettled(0)]).toEqual([true, true, true])
      expect(drain.ponged(answer)).toBe(false)
    }
  })

  it('knows earlier from later when the values of pings begin again', () => {
    const drain = new Drain()
    drain.begin(0, 60_000)
    drain.pinged(0xffff_ffff)
    expect([drain.ponged(0xffff_fffe), drain.ponged(0)]).toEqual([false, true])
  })

  it('waits for an answer no longer than a peer that lives needs, and then wants to be asked no more', () => {
    const drain = new Drain()
    drain.begin(1_000, 60_000)
    expect(drain.dueMs).toBe(1_000 + MAX_GO_AWAY_ANSWER_MS)
    drain.tick(drain.dueMs - 1)
    expect(drain.isSettled(drain.dueMs - 1)).toBe(false)
    drain.tick(drain.dueMs)
    expect([drain.isSettled(7_000), drain.isRead, drain.dueMs]).toEqual([true, false, 61_000])
  })

  it('keeps the earliest end it was given', () => {
    const drain = new Drain()
    drain.begin(0, 60_000)
    drain.begin(0, 1_000)
    drain.begin(0, 30_000)
    expect([drain.isOverdue(999), drain.isOverdue(1_000), drain.dueMs]).toEqual([false, true, 1_000])
  })
})

describe('a session that goes away', () => {
  it('takes what the peer opened in ignorance, serves what there is, and ends', () => {
    const pair = new Pair()
    pair.settle()
    pair.server.session.goAway(60_000)
    pair.send('server')
    const late = pair.client.open()
    late.write(1_000)
    late.end()
    pair.settle()
    expect(late.error).toBeUndefined()
    expect(pair.client.wentAway).toBe(1)
    expect(() => pair.client.open()).toThrow(expect.objectContaining({ code: 'going-away' }))
    expect(() => pair.server.open()).toThrow(expect.objectContaining({ code: 'going-away' }))
    const far = pair.server.streams.get(late.core.id)!
    far.readAll()
    expect([far.readBytes, far.sawEnd, pair.server.error]).toEqual([1_000, true, undefined])
    far.end()
    pair.settle()
    late.readAll()
    expect(late.sawEnd).toBe(true)
    expect(pair.server.error).toMatchObject({ code: 'closed', message: 'the session has been drained' })
  })

  it('resets what a peer opens that has read the go-away', () => {
    const pair = new Pair()
    const kept = pair.client.open()
    pair.settle()
    pair.server.session.goAway(60_000)
    pair.settle()
    pair.server.session.receive(naiveFrame(WINDOW_UPDATE, SYN, kept.core.id + 2, 0))
    expect([...pair.server.streams.keys()]).toEqual([kept.core.id])
    expect(pair.server.session.counters.refusedStreams).toBe(1)
    expect(pair.server.error).toBeUndefined()
  })

  it('ends without streams as soon as the peer has answered, and not before', () => {
    const pair = new Pair()
    pair.settle()
    pair.server.session.goAway(60_000)
    pair.send('server')
    expect(pair.server.error).toBeUndefined()
    pair.settle()
    expect(pair.server.error).toMatchObject({ code: 'closed' })
  })

  it('without streams ends in time although nobody answers', () => {
    const pair = new Pair()
    pair.settle()
    pair.server.session.goAway(60_000)
    pair.send('server')
    pair.clock.advance(pair.server.session.dueMs - pair.clock.monotonicMs())
    pair.server.session.tick()
    expect(pair.clock.monotonicMs()).toBe(MAX_GO_AWAY_ANSWER_MS)
    expect(pair.server.error).toMatchObject({ code: 'closed' })
  })

  it('resets what is left at the deadline', () => {
    const pair = new Pair()
    const near = pair.client.open()
    pair.settle()
    pair.server.session.goAway(3_000)
    expect(pair.server.session.dueMs).toBe(3_000)
    pair.clock.advance(3_000)
    pair.server.session.tick()
    expect(pair.server.streams.get(near.core.id)?.error).toMatchObject({ code: 'drain-deadline' })
    expect(pair.server.error).toMatchObject({ code: 'closed' })
    pair.settle()
    expect(near.error).toMatchObject({ code: 'reset-by-peer' })
  })
})

const sides: readonly Side[] = ['client', 'server']
const step = fc.tuple(
  fc.constantFrom('open', 'open', 'send', 'deliver', 'goAway'),
  fc.constantFrom(...sides),
  fc.nat(40),
)

describe('streams opened around a go-away', () => {
  it('are never lost, whoever goes away when, and however bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const pair = new Pair({ limits: { maxOpensPerSecond: 1e9 } })
        for (const [what, side, amount] of steps) act(pair, what, side, amount)
        pair.settle()
        for (const side of sides) for (const { error } of pair[side].streams.values()) expect(error).toBeUndefined()
        expect(new Set(pair.client.streams.keys())).toEqual(new Set(pair.server.streams.keys()))
        finish(pair)
        const hasGone = steps.some(([what]) => what === 'goAway')
        const isOver = sides.some((side) => pair[side].error !== undefined)
        expect(isOver).toBe(hasGone)
      }),
      { numRuns: process.env['CAUSEWAY_LONG'] === '1' ? 50_000 : 1_000 },
    )
  })
})

function act(pair: Pair, what: string, side: Side, amount: number): void {
  const { session } = pair[side]
  if (what === 'open' && !session.isGoingAway) pair[side].open().write(amount)
  else if (what === 'send') pair.send(side, amount)
  else if (what === 'deliver') pair.deliver(side, amount, 1 + (amount % 7))
  else if (what === 'goAway') session.goAway(60_000)
}

function finish(pair: Pair): void {
  for (const side of sides) {
    for (const stream of pair[side].streams.values()) {
      stream.isEager = true
      stream.readAll()
      stream.end()
    }
  }
  pair.settle()
}
