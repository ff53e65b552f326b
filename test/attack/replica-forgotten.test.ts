/** A node that was forgotten has nothing to give any more: not to those who read just now, and not after a restart either. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT, NODE, READ, ReplicaWorld, until, type Watched } from './replica-world.ts'

const configMaps = `${DEFAULT}/configmaps`
const word = 'xyzzy-of-a-cluster-that-was'

let world: ReplicaWorld
let reader: { readonly token: string }
let watch: Watched

beforeEach(async () => {
  world = await ReplicaWorld.start()
  await world.create(configMaps, { metadata: { name: 'kept' }, data: { word } })
  reader = await world.account('reader', { verbs: READ, resources: ['configmaps'] })
  await world.learn(configMaps, reader)
  await world.learn('/api/v1/nodes/edge-1', 'node')
  watch = await world.watch(`${configMaps}?watch=1`, reader)
  await until('the watch runs', () => watch.told.includes('ADDED kept'))
  await world.until('it is written', () => isOnDisk())
})
afterEach(() => world.stop())

function isOnDisk(): boolean {
  const files = (readdirSync(world.dataDir, { recursive: true, withFileTypes: true }) ?? []).filter((file) =>
    file.isFile(),
  )
  return files.some(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(word))
}

/** The hub says so when it is asked the next time. */
async function forget(): Promise<void> {
  expect(await world.site.claims.forget(NODE)).toBe(true)
  await world.until('the edge is refused', () => world.replica.reach.state === 'refused')
  await world.until('it is erased', () => !isOnDisk())
}

async function expectNothing(): Promise<void> {
  for (const path of [configMaps, `${configMaps}/kept`, `${configMaps}?watch=1&timeoutSeconds=1`, '/version'])
    for (const asker of [reader, 'node'] as const) {
      const { status, body } = await world.ask(path, asker)
      expect([401, 403, 502, 503, 504], `${path}: ${status}`).toContain(status)
      expect(body).not.toContain(word)
    }
}

describe('a forgotten node', () => {
  it('serves what it has kept as long as it is only cut off', async () => {
    await world.cut()
    expect((await world.ask(configMaps, reader)).body).toContain(word)
    await world.restartEdge()
    expect((await world.ask(configMaps, reader)).body).toContain(word)
    expect(await world.status('/api/v1/nodes/edge-1', 'node')).toBe(200)
  })

  it('ends what is read, gives nothing, and has nothing', async () => {
    await forget()
    await until('the watch has ended', () => watch.isOver)
    expect(world.replica).toMatchObject({ feeds: 0, verdicts: 0, documents: 0, tokens: 0 })
    await expectNothing()
    // Whoever asks again may be known for a moment; there is nothing to be had for that.
    expect(world.replica).toMatchObject({ objects: 0, bytes: 0, documents: 0, tokens: 0 })
    expect(existsSync(join(world.dataDir, 'replica.erased'))).toBe(false)
  })

  it('gives nothing after a restart without a link', async () => {
    await forget()
    world.sever()
    await world.restartEdge()
    await expectNothing()
    expect(isOnDisk()).toBe(false)
  })

  it('that was cut off is told when it is back', async () => {
    await world.cut()
    await world.site.claims.forget(NODE)
    expect((await world.ask(configMaps, reader)).body).toContain(word)
    world.mend()
    await world.until('the edge is refused', () => world.replica.reach.state === 'refused')
    await world.until('it is erased', () => !isOnDisk())
    await expectNothing()
  })
})
