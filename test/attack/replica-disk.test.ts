/** The data folder in other hands: nothing of it is open to another user, and no secret or credential can be read in it. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Asker, DEFAULT, READ, ReplicaWorld, until } from './replica-world.ts'

const secrets = `${DEFAULT}/secrets`
const configMaps = `${DEFAULT}/configmaps`
/** In a Secret of a pod of this node, in one that only a pod has read, and in a ConfigMap. */
const words = { kubelet: 'plugh-of-the-kubelet', pod: 'xyzzy-of-the-pod', open: 'plover-of-nobody' }

let world: ReplicaWorld
/** Nothing of these may be found. */
const hidden = new Map<string, string>()

async function fill(): Promise<Asker> {
  for (const [name, word] of Object.entries(words)) {
    await world.create(secrets, { metadata: { name }, stringData: { word: name === 'open' ? '' : word } })
    await world.create(configMaps, { metadata: { name }, data: name === 'open' ? { word } : {} })
  }
  const owner = await world.account('owner', { verbs: READ, resources: ['secrets', 'configmaps'] })
  const pod = await world.pod('web', 'owner', 'kubelet')
  await until('the node may read it', async () => (await world.status(`${secrets}/kubelet`, 'node')) === 200)
  for (const path of [secrets, configMaps, `${secrets}/pod`]) await world.learn(path, owner)
  await world.askInHaste(`${secrets}?watch=1&timeoutSeconds=1`, owner)
  hidden.set('the bearer token', owner.token).set('the token of the kubelet', await world.tokenByKubelet('owner', pod))
  hidden.set('the Secret of the kubelet', words.kubelet).set('the Secret of a pod', words.pod)
  return owner
}

let owner: Asker
beforeAll(async () => {
  world = await ReplicaWorld.start()
  owner = await fill()
  await world.cut()
})
afterAll(() => world.stop())

/** Of all that the replica has on disk. */
function paths(): readonly string[] {
  const own = readdirSync(world.dataDir).filter((name) => name.startsWith('replica'))
  return own.flatMap((name) => {
    const path = join(world.dataDir, name)
    return lstatSync(path).isDirectory() ? [path, ...readdirSync(path).map((each) => join(path, each))] : [path]
  })
}

/** As it is, in base64 at each of the three places where it may begin, and the parts of a token. */
function spellings(text: string): readonly string[] {
  const encoded = ['', 'x', 'xx'].map((before) =>
    Buffer.from(before + text)
      .toString('base64')
      .slice(before === '' ? 0 : 4, -4),
  )
  const halves = text.split('.').filter((part) => part.length > 16)
  return [text, ...encoded, ...halves, Buffer.from(text).toString('hex')]
}

/** The names of the hidden that can be found in any file of the data folder. */
function found(): readonly string[] {
  const files = (readdirSync(world.dataDir, { recursive: true }) as string[])
    .map((name) => join(world.dataDir, name))
    .filter((path) => lstatSync(path).isFile())
  const bytes = files.map((path) => readFileSync(path))
  const isThere = (text: string): boolean => spellings(text).some((each) => bytes.some((file) => file.includes(each)))
  return [...hidden].filter(([, text]) => isThere(text)).map(([what]) => what)
}

async function onDisk(): Promise<void> {
  await world.until('it is written', () =>
    readFileSync(join(world.dataDir, 'replica', 'data.mdb')).includes(words.open),
  )
}

describe('the data folder read by another', () => {
  it('is shut: every file and folder of the replica is for its owner alone', async () => {
    await onDisk()
    const modes = paths().map((path) => [path, (lstatSync(path).mode & 0o777).toString(8)])
    expect(modes.length).toBeGreaterThan(2)
    for (const [path, mode] of modes)
      expect([path, mode]).toEqual([path, lstatSync(path ?? '').isDirectory() ? '700' : '600'])
  })

  it('has what is no secret in plain text, and nothing that is one', async () => {
    await onDisk()
    expect(found()).toEqual([])
  })

  it('has no secret in plain text after a restart either, which serves the kubelet all the same', async () => {
    await world.restartEdge()
    await onDisk()
    expect(found()).toEqual([])
    const given = await world.ask(`${secrets}/kubelet`, 'node')
    expect([given.status, given.body]).toEqual([
      200,
      expect.stringContaining(Buffer.from(words.kubelet).toString('base64')),
    ])
    expect(await world.status(configMaps, owner)).toBe(200)
    expect(await world.status(`${secrets}/pod`, owner)).toBe(503)
  })
})
