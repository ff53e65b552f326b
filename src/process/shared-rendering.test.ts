import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { RENDERING_REST_RATIO, SharedRendering } from './shared-rendering.ts'

describe('SharedRendering', () => {
  it('renders once for all who ask in one turn of the event loop, each on its own', async () => {
    let rendered = 0
    const rendering = new SharedRendering(new ManualClock(), () => Promise.resolve(`text ${++rendered}`))
    const asked: Promise<Buffer>[] = []
    for (let caller = 0; caller < 10; caller++) {
      asked.push(rendering.get())
      // As between two sockets that are read one after the other: everything that follows from the first has happened.
      await new Promise<void>((resolve) => process.nextTick(resolve))
    }
    expect((await Promise.all(asked)).map(String)).toEqual(Array<string>(10).fill('text 1'))
    expect(String(await rendering.get())).toBe('text 2')
  })

  it('leaves others the time between two renderings, in proportion to how long one takes', async () => {
    const clock = new ManualClock()
    const tookMs = 40
    let rendered = 0
    const rendering = new SharedRendering(clock, async () => {
      rendered += 1
      await clock.sleep(tookMs)
      return 'text'
    })
    const first = rendering.get()
    await clock.advance(tookMs)
    await first
    const second = rendering.get()
    await clock.advance(tookMs * RENDERING_REST_RATIO - 1)
    expect(rendered).toBe(1)
    await clock.advance(1 + tookMs)
    await second
    expect(rendered).toBe(2)
  })

  it('tells every caller of a failure, and goes on', async () => {
    let rendered = 0
    const rendering = new SharedRendering(new ManualClock(), async () => {
      rendered += 1
      if (rendered === 1) throw new Error('no idea')
      return 'text'
    })
    const asked = [rendering.get(), rendering.get()]
    for (const each of await Promise.allSettled(asked)) expect(each.status).toBe('rejected')
    expect(String(await rendering.get())).toBe('text')
  })
})
