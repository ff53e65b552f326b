/**
 * Rights that are taken away, and those on whose credential others are served: whoever loses a right loses what is read by it,
 * online within a review and offline from then on, and nobody else notices.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT, READ, ReplicaWorld, until, type Watched } from './replica-world.ts'

const configMaps = `${DEFAULT}/configmaps`
const watching = `${configMaps}?watch=1`
const reading = { verbs: READ, resources: ['configmaps'] }
/** One each minute; it is later by chance, and one that fails is no denial. */
const reviewMs = 3 * 60_000
/** For which an API server takes a token that has ended. */
const leewaySeconds = 60

let world: ReplicaWorld
beforeEach(async () => {
  world = await ReplicaWorld.start()
  await world.create(configMaps, { metadata: { name: 'before' } })
})
afterEach(() => world.stop())

async function add(name: string): Promise<void> {
  await world.create(configMaps, { metadata: { name } })
}

async function hears(watch: Watched, name: string): Promise<void> {
  await until(`${name} is told`, () => watch.told.includes(`ADDED ${name}`))
}

async function endsWithinReview(watch: Watched): Promise<void> {
  const beganMs = world.clock.monotonicMs()
  await world.until('the watch has ended', () => watch.isOver)
  expect(world.clock.monotonicMs() - beganMs).toBeLessThan(reviewMs)
}

/** What was told of the objects of these tests. */
function since(watch: Watched): readonly string[] {
  return watch.told.filter((event) => !event.endsWith('kube-root-ca.crt'))
}

/** Whoever watches first is the one on whose credential the feed is followed. */
async function sponsorAndOther(
  sponsor: string,
): Promise<readonly [sponsor: Watched, other: Watched, otherToken: string]> {
  const other = await world.account('other', reading)
  const first = await world.watch(watching, { token: sponsor })
  await hears(first, 'before')
  const second = await world.watch(`${watching}&resourceVersion=0`, other)
  await hears(second, 'before')
  return [first, second, other.token]
}

async function expectGoesOn(other: Watched, otherToken: string): Promise<void> {
  await add('after')
  await world.until('the other goes on', () => other.told.includes('ADDED after'))
  expect(since(other)).toEqual(['ADDED before', 'ADDED meanwhile', 'ADDED after'])
  expect(other.isOver).toBe(false)
  await world.cut()
  expect(await world.status(configMaps, { token: otherToken })).toBe(200)
}

describe('one on whose credential a feed is followed', () => {
  it('loses its rights: its own watch ends, and the others go on without a gap', async () => {
    const { token } = await world.account('sponsor', reading)
    const [sponsor, other, otherToken] = await sponsorAndOther(token)
    await world.revoke('sponsor', token, configMaps)
    await add('meanwhile')
    await hears(other, 'meanwhile')
    await endsWithinReview(sponsor)
    await expectGoesOn(other, otherToken)
    expect(since(sponsor)).not.toContain('ADDED after')
    expect([403, 503]).toContain(await world.status(configMaps, { token }))
  })

  it('has a token that ends: its own watch ends, and the others go on without a gap', async () => {
    const { token: lasting } = await world.account('sponsor', reading)
    const nowSeconds = Math.floor(Date.now() / 1000)
    const exp = nowSeconds - leewaySeconds + 5
    const token = await world.resigned(lasting, { iat: exp - 600, nbf: exp - 600, exp })
    const [sponsor, other, otherToken] = await sponsorAndOther(token)
    await until('the token has ended', async () => (await world.askCloud(configMaps, { token })) === 401)
    await add('meanwhile')
    await hears(other, 'meanwhile')
    await endsWithinReview(sponsor)
    await expectGoesOn(other, otherToken)
  })
})

describe('a right that is taken away', () => {
  it('ends a shared watch within a review, and is not given back by a cut that follows', async () => {
    const losing = await world.account('losing', reading)
    const keeping = await world.account('keeping', reading)
    const kept = await world.watch(watching, keeping)
    await hears(kept, 'before')
    const lost = await world.watch(`${watching}&resourceVersion=0`, losing)
    await hears(lost, 'before')
    await world.revoke('losing', losing.token, configMaps)
    await endsWithinReview(lost)
    expect(kept.isOver).toBe(false)
    await world.cut()
    expect((await world.watch(watching, losing)).status).toBe(403)
    for (const path of [configMaps, `${configMaps}/before`])
      expect([403, 503]).toContain(await world.status(path, losing))
    expect(await world.status(configMaps, keeping)).toBe(200)
  })

  it('and was refused since is refused without a link, also for what the reader may not have asked again', async () => {
    const losing = await world.account('losing', reading)
    for (const path of [configMaps, `${configMaps}/before`]) await world.learn(path, losing)
    await world.revoke('losing', losing.token, configMaps)
    expect(await world.status(configMaps, losing)).toBe(403)
    await world.cut()
    expect(await world.status(configMaps, losing)).toBe(403)
  })
})
