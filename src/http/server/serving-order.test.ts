import { describe, expect, it } from 'vitest'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { TURN_MS } from '../../runtime/turns.ts'
import { ServingOrder } from './serving-order.ts'

/** Jobs take as long as they say. */
function world() {
  let nowMs = 0
  const order = new ServingOrder({ monotonicMs: () => nowMs })
  const done: string[] = []
  const guard = loudNet().guard('connection', () => {})
  const lane = () => order.openLane(guard)
  const job =
    (name: string, ms = 0) =>
    () => {
      nowMs += ms
      done.push(name)
    }
  return { done, lane, job }
}

const tick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('requests of one turn', () => {
  it('begin before anything else happens, and not before all that came with them has been read', async () => {
    const { done, lane, job } = world()
    lane().add(job('first'))
    expect(done).toEqual([])
    await tick()
    expect(done).toEqual(['first'])
  })

  it('wait for what the one before does without a wait', async () => {
    const { done, lane, job } = world()
    const one = lane()
    const longWork = async (): Promise<void> => {
      for (let step = 0; step < 20; step++) await Promise.resolve()
      done.push('first, to its end')
    }
    one.add(() => void longWork())
    one.add(job('second'))
    await turn()
    expect(done).toEqual(['first, to its end', 'second'])
  })

  it('are no more than there is time for, whichever connections bring them', async () => {
    const { done, lane, job } = world()
    lane().add(job('a', TURN_MS / 2))
    lane().add(job('b', TURN_MS / 2))
    lane().add(job('c'))
    await tick()
    await tick()
    lane().add(job('d'))
    await new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))
    expect(done).toEqual(['a', 'b'])
    await turn()
    await turn()
    expect(done).toEqual(['a', 'b', 'c', 'd'])
  })

  it('let one pass that takes longer than a turn', async () => {
    const { done, lane, job } = world()
    const one = lane()
    for (const name of ['a', 'b', 'c']) one.add(job(name, 10 * TURN_MS))
    for (let count = 1; count <= 3; count++) {
      await turn()
      expect(done.length).toBeGreaterThanOrEqual(count)
    }
  })
})

describe('lanes', () => {
  it('take turns, so that nobody waits behind all of another', async () => {
    const { done, lane, job } = world()
    const [busy, other] = [lane(), lane()]
    for (const name of ['a1', 'a2', 'a3']) busy.add(job(name))
    other.add(job('b1'))
    await turn()
    expect(done).toEqual(['a1', 'b1', 'a2', 'a3'])
  })

  it('go on behind a job that throws', async () => {
    const caught: unknown[] = []
    const lane = new ServingOrder({ monotonicMs: () => 0 }).openLane((action) => {
      try {
        void action()
      } catch (error) {
        caught.push(error)
      }
    })
    const done: string[] = []
    lane.add(() => {
      throw new Error('broken')
    })
    lane.add(() => void done.push('next'))
    await turn()
    expect(caught).toHaveLength(1)
    expect(done).toEqual(['next'])
  })
})
