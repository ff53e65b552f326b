/** One pod that reads as much as it can: what others and the kubelet have read is still there when the link goes. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Asker, DEFAULT, NODE, READ, ReplicaWorld } from './replica-world.ts'

const configMaps = `${DEFAULT}/configmaps`
const secrets = `${DEFAULT}/secrets`
const names = 20_000
/** What one reader may have, as docs/offline.md says. */
const readerFeeds = 256
const readerBytes = 64 * 1024 * 1024
/** Less than one caller may have under way at once. */
const together = 200
const largeBytes = 900_000
const large = 4

let world: ReplicaWorld
let hostile: Asker
let neighbour: Asker

/** What was read by those who do nothing wrong. */
const honest = (): [path: string, asker: Asker][] => [
  [secrets, neighbour],
  [`${secrets}/theirs`, neighbour],
  [`/api/v1/nodes/${NODE}`, 'node'],
  [`${DEFAULT}/pods/web`, 'node'],
]

beforeAll(async () => {
  world = await ReplicaWorld.start()
  await world.create(secrets, { metadata: { name: 'theirs' } })
  for (let index = 0; index < large; index += 1)
    await world.create(configMaps, { metadata: { name: `large-${index}` }, data: { word: 'x'.repeat(largeBytes) } })
  hostile = await world.account('hostile', { verbs: READ, resources: ['configmaps'] })
  neighbour = await world.account('neighbour', { verbs: READ, resources: ['secrets'] })
  await world.pod('web', 'neighbour')
  for (const [path, asker] of honest()) await world.learn(path, asker)
  // One that is new may ask for less.
  await world.learn(`${configMaps}/large-0`, hostile)
})
afterAll(() => world.stop())
afterEach(() => world.restore())

/** As fast as the endpoint lets it, which is made to think that time passes. */
async function flood(count: number, pathOf: (index: number) => string, atOnce = together): Promise<Set<number>> {
  const seen = new Set<number>()
  for (let begun = 0; begun < count; begun += atOnce) {
    const asked = Array.from({ length: atOnce }, (_, index) => world.status(pathOf(begun + index), hostile))
    for (const status of await Promise.all(asked)) seen.add(status)
    await world.pass(1_000)
  }
  return seen
}

async function expectHonestServed(): Promise<void> {
  for (const [path, asker] of honest()) expect([path, await world.status(path, asker)]).toEqual([path, 200])
}

describe('a replica that one pod would exhaust', () => {
  it('has what others read, after a thousand selections of one collection', async () => {
    const seen = await flood(1_000, (index) => `${configMaps}?labelSelector=app%3Dshop-${index}`)
    expect(seen).toEqual(new Set([200]))
    await world.cut()
    expect(world.replica.feeds).toBeLessThanOrEqual(readerFeeds + honest().length)
    await expectHonestServed()
  })

  it('has what others read, after more bytes than one may have', async () => {
    const needed = Math.ceil((1.25 * readerBytes) / (large * largeBytes))
    const seen = await flood(needed, (index) => `${configMaps}?labelSelector=%21app-${index}`, 1)
    expect(seen).toEqual(new Set([200]))
    await world.cut()
    expect(world.replica.bytes).toBeLessThan(readerBytes + 1_000_000)
    expect(await world.status(`${configMaps}?labelSelector=%21app-${needed - 1}`, hostile)).toBe(200)
    await expectHonestServed()
  })

  it('knows what others may, after twenty thousand names that nothing has', async () => {
    const pathOf = (index: number): string => `${index % 2 === 0 ? configMaps : secrets}/none-${index}`
    const seen = await flood(names, pathOf)
    expect(seen).toEqual(new Set([404, 403]))
    await world.cut()
    await expectHonestServed()
  })
})
