import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { holdYoungGeneration, letYoungGenerationGrow } from './young-generation.ts'

/** Has a young generation of its own, in which it makes what stays; answers how large that is then. */
const hoarder = `
  const { parentPort } = require('node:worker_threads')
  const { getHeapSpaceStatistics } = require('node:v8')
  const kept = []
  parentPort.on('message', (count) => {
    for (let made = 0; made < count; made++) kept.push({ made, of: [count] })
    parentPort.postMessage(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size)
  })
`
const objectsPerRound = 100_000
/** Some versions of V8 go beyond what they hold to for a moment; hence the smallest of several rounds. */
const rounds = 4

it('grows by what stays alive, unless it is held', async () => {
  const worker = new Worker(hoarder, { eval: true })
  const sizeAfter = async (count: number): Promise<number> => {
    worker.postMessage(count)
    return ((await once(worker, 'message')) as [number])[0]
  }
  const smallest = async (): Promise<number> => {
    const sizes: number[] = []
    for (let round = 0; round < rounds; round++) sizes.push(await sizeAfter(objectsPerRound))
    return Math.min(...sizes)
  }
  try {
    await once(worker, 'online')
    holdYoungGeneration()
    const before = await sizeAfter(0)
    expect(await smallest()).toBeLessThanOrEqual(before)
    letYoungGenerationGrow()
    expect(await smallest()).toBeGreaterThan(before)
  } finally {
    letYoungGenerationGrow()
    await worker.terminate()
  }
})
