import { describe, expect, it } from 'vitest'
import { LinkWorld } from '../../../test/worlds/edge-link-world.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { OutgoingOpen } from '../../tunnel/outgoing.ts'
import { MAX_FRUITLESS_OPENS_AT_ONCE, MAX_FRUITLESS_OPENS_PER_SECOND } from '../../tunnel/yamux/limits.ts'
import { FRUITLESS_FORWARDS_AT_ONCE, FRUITLESS_FORWARDS_PER_SECOND, withinBudget } from './fruitless-opens.ts'

type Answer = 'ok' | 'denied' | 'no-route' | 'none'

function world(atOnce = 3) {
  const clock = new ManualClock()
  const state = { answer: 'ok' as Answer, opened: 0 }
  const open = async (): Promise<OutgoingOpen> => {
    if (state.answer === 'no-route') throw new OpenError('no-route', 'no link')
    state.opened += 1
    const answered = state.answer === 'none' ? new Promise(() => {}) : answerOf(state.answer)
    answered.catch(() => {})
    return { stream: {}, answered } as OutgoingOpen
  }
  const budgeted = withinBudget(open, clock, { perSecond: 2, atOnce })
  const ask = async (answer: Answer): Promise<string> => {
    state.answer = answer
    return await budgeted({ target: 'x' }, new AbortController().signal).then(
      () => 'opened',
      (error: OpenError) => error.code,
    )
  }
  return { clock, state, ask }
}

async function answerOf(answer: Answer): Promise<unknown> {
  if (answer === 'denied') throw new OpenError('denied', 'not for you')
  return await Promise.resolve({})
}

describe('connections of a node', () => {
  it('that come to nothing are refused here before the hub minds, until time has passed', async () => {
    const { clock, state, ask } = world()
    for (let count = 0; count < 3; count++) expect(await ask('denied')).toBe('opened')
    expect([await ask('denied'), await ask('ok'), state.opened]).toEqual(['overloaded', 'overloaded', 3])
    await clock.advance(500)
    expect([await ask('denied'), await ask('denied'), state.opened]).toEqual(['opened', 'overloaded', 4])
  })

  it('that are answered, or never left, count for nothing', async () => {
    const { ask } = world()
    for (let count = 0; count < 10; count++) {
      expect(await ask('ok')).toBe('opened')
      await Promise.resolve()
      expect(await ask('no-route')).toBe('no-route')
    }
  })

  it('that have no answer yet count as if they came to nothing', async () => {
    const { ask } = world()
    for (let count = 0; count < 3; count++) expect(await ask('none')).toBe('opened')
    expect(await ask('ok')).toBe('overloaded')
  })
})

it('a hub bears more than this edge lets through', () => {
  expect(FRUITLESS_FORWARDS_PER_SECOND).toBeLessThan(MAX_FRUITLESS_OPENS_PER_SECOND)
  expect(FRUITLESS_FORWARDS_AT_ONCE).toBeLessThan(MAX_FRUITLESS_OPENS_AT_ONCE)
})

it('streams to where the node may not go, asked for without end, do not cost it its session', async () => {
  const links = new LinkWorld()
  let denied = 0
  links.onOpen = (incoming) => {
    denied += 1
    incoming.refuse('denied', 'not for you')
  }
  const edge = links.links()
  const running = await links.started(edge)
  const open = withinBudget(async (header, signal) => await edge.open(header, signal), links.clock)
  const ask = async (): Promise<unknown> =>
    await open({ target: 'a:1' }, new AbortController().signal).then(
      async ({ answered }) => await answered.catch(() => {}),
      () => {},
    )
  for (let count = 0; count <= MAX_FRUITLESS_OPENS_AT_ONCE; count += 100)
    await Promise.all(Array.from({ length: 100 }, ask))
  expect([denied, links.sessions.length]).toEqual([FRUITLESS_FORWARDS_AT_ONCE, 1])
  expect(edge.status).toMatchObject([{ state: 'up', lastError: undefined }])
  await running.stop(AbortSignal.abort())
})
