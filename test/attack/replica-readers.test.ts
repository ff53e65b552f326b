/** What one pod has read is no other pod's: without a link everybody gets what they themselves were allowed, and not a byte more. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Asker, DEFAULT, READ, ReplicaWorld } from './replica-world.ts'

const secrets = `${DEFAULT}/secrets`
const configMaps = `${DEFAULT}/configmaps`
const word = 'xyzzy-of-the-owner'
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
const metadataOnly = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' }
const protobuf = { accept: 'application/vnd.kubernetes.protobuf' }
const watching = 'watch=1&timeoutSeconds=1'
const watchList = `${watching}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`

let world: ReplicaWorld
/** Has read it all. */
let owner: Asker
/** May read nothing, and was told so. */
let denied: Asker
/** May read nothing, and has never asked. */
let stranger: Asker
/** May read one Secret by its name. */
let narrow: Asker
let continueToken: string

/** Each is a way to a Secret or a ConfigMap of another. */
const ways: [what: string, path: string, headers?: Record<string, string>][] = [
  ['GET', `${secrets}/second`],
  ['GET of a ConfigMap', `${configMaps}/second`],
  ['LIST', secrets],
  ['LIST of ConfigMaps', configMaps],
  ['LIST of every namespace', '/api/v1/secrets'],
  ['LIST of any version', `${secrets}?resourceVersion=0`],
  ['WATCH', `${secrets}?${watching}`],
  ['WATCH of ConfigMaps', `${configMaps}?${watching}`],
  ['WATCH by the old path', '/api/v1/watch/namespaces/default/secrets?timeoutSeconds=1'],
  ['WATCH of one by the old path', '/api/v1/watch/namespaces/default/secrets/second?timeoutSeconds=1'],
  ['WatchList', `${secrets}?${watchList}`],
  ['Table of one', `${secrets}/second`, table],
  ['Table', secrets, table],
  ['Table with the objects', `${secrets}?includeObject=Object`, table],
  ['metadata only', secrets, metadataOnly],
  ['protobuf', secrets, protobuf],
  ['a label', `${secrets}?labelSelector=app%3Dshop`],
  ['a name', `${secrets}?fieldSelector=metadata.name%3Dsecond`],
  ['all names but one', `${secrets}?fieldSelector=metadata.name%21%3Dfirst`],
  ['a page', `${secrets}?limit=1`],
]

beforeAll(async () => {
  world = await ReplicaWorld.start()
  for (const name of ['first', 'second', 'third']) {
    const metadata = { name, labels: { app: 'shop' } }
    await world.create(secrets, { metadata, stringData: { word } })
    await world.create(configMaps, { metadata, data: { word } })
  }
  owner = await world.account('owner', { verbs: READ, resources: ['secrets', 'configmaps'] })
  denied = await world.account('denied')
  stranger = await world.account('stranger', { verbs: ['get'], resources: ['pods'] })
  narrow = await world.account('narrow', { verbs: READ, resources: ['secrets'], resourceNames: ['first'] })
  for (const path of [secrets, configMaps, `${secrets}?${watching}`, `${configMaps}?${watching}`])
    await world.learn(path, owner)
  for (const path of [secrets, configMaps, `${secrets}/second`, `${secrets}?${watching}`])
    await world.learn(path, denied, 403)
  await world.learn(`${DEFAULT}/pods/none`, stranger, 404)
  await world.learn(`${secrets}/first`, narrow)
  await world.cut()
  const page = JSON.parse((await world.ask(`${secrets}?limit=1`, owner)).body) as { metadata: { continue: string } }
  continueToken = page.metadata.continue
})
afterAll(() => world.stop())

/** The word itself, and as it stands in a Secret. */
const spoils = [word, Buffer.from(word).toString('base64'), '"second"', '"third"']

async function expectNothing(path: string, asker: Asker, headers = {}): Promise<void> {
  const { status, body } = await world.ask(path, asker, { headers })
  expect([403, 503], `${path}: ${status} ${body.slice(0, 100)}`).toContain(status)
  for (const spoil of [spoils[0], spoils[1]]) expect(body).not.toContain(spoil)
}

describe("another pod's kept data, without a link", () => {
  // Of other namespaces the owner has read nothing.
  const own = ways.filter(([what]) => what !== 'LIST of every namespace')

  it.each(own)('is given to who has read it: %s', async (_what, path, headers) => {
    const { status, body } = await world.askInHaste(path, owner, { headers: headers ?? {} })
    expect(status).toBe(200)
    expect(body).toMatch(/second|first/)
  })

  it.each(ways)('is refused to who was denied it: %s', async (_what, path, headers) => {
    await expectNothing(path, denied, headers)
  })

  it.each(ways)('is refused to who has never asked: %s', async (_what, path, headers) => {
    await expectNothing(path, stranger, headers)
  })

  it.each(ways)('is refused to who may read another object: %s', async (_what, path, headers) => {
    await expectNothing(path, narrow, headers)
  })

  it.each(ways)('is refused to nobody in particular: %s', async (_what, path, headers) => {
    const { status, body } = await world.ask(path, 'nobody', { headers: headers ?? {} })
    expect([401, 403, 503]).toContain(status)
    expect(body).not.toContain(word)
  })

  it("is not given for another's continue token", async () => {
    const path = `${secrets}?limit=1&continue=${encodeURIComponent(continueToken)}`
    expect(await world.status(path, owner)).toBe(200)
    for (const asker of [denied, stranger, narrow]) await expectNothing(path, asker)
  })

  it('is given by name to who may read that name, and nothing else of it', async () => {
    const given = await world.ask(`${secrets}/first`, narrow)
    expect(given.status).toBe(200)
    expect(JSON.parse(given.body)).toMatchObject({ metadata: { name: 'first' } })
    for (const other of spoils.slice(2)) expect(given.body).not.toContain(other)
  })

  it('is no more after a restart without a link', async () => {
    await world.restartEdge()
    for (const [, path, headers] of ways)
      for (const asker of [denied, stranger, narrow]) await expectNothing(path, asker, headers)
    expect(await world.status(configMaps, owner)).toBe(200)
    // Secrets that only pods have read are in memory alone.
    expect(await world.status(secrets, owner)).toBe(503)
  })
})
