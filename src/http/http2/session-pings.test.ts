import { expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import type { Http2Session } from './session.ts'
import { SessionPings } from './session-pings.ts'

function begin() {
  const clock = new ManualClock()
  const sent: Buffer[] = []
  const session = { isOver: false, ping: (payload: Buffer) => void sent.push(payload) }
  return { clock, sent, session, pings: new SessionPings(session as unknown as Http2Session, clock) }
}

it('tells each how long its own answer took, once, in whatever order they come', async () => {
  const { clock, sent, pings } = begin()
  const took: (readonly [string, number])[] = []
  pings.ping((_, ms) => void took.push(['first', ms]))
  await clock.advance(100)
  pings.ping((_, ms) => void took.push(['second', ms]))
  await clock.advance(50)
  const [first, second] = sent as [Buffer, Buffer]
  pings.answered(second)
  pings.answered(first)
  pings.answered(first)
  expect(took).toEqual([
    ['second', 50],
    ['first', 150],
  ])
})

it('takes no notice of answers that nobody has asked for', () => {
  const { pings } = begin()
  expect(() => pings.answered(Buffer.alloc(8, 0xff))).not.toThrow()
})

it('asks no more where nothing is answered, and again when it is', () => {
  const { sent, pings } = begin()
  for (let count = 0; count < 100; count++) pings.ping(() => {})
  expect(sent).toHaveLength(16)
  pings.answered(sent[0] as Buffer)
  pings.ping(() => {})
  expect(sent).toHaveLength(17)
})

it('is gone with its session', () => {
  const { session, pings } = begin()
  expect(pings.destroyed).toBe(false)
  session.isOver = true
  expect(pings.destroyed).toBe(true)
})
