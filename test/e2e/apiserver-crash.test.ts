/**
 * kill -9 in a loop under load: whatever was answered is there after the restart, nothing is there that nobody wrote, and
 * watches go on from before the crash. (That an answer waits for the disk is shown elsewhere: a killed process does not
 * lose what the kernel has.)
 */
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConfigMap,
  configMaps,
  KubeClient,
  loadKubeconfig,
  namespaces,
  type ResourceClient,
} from '../../src/kube/index.ts'
import { ApiError } from '../../src/kube/status/status.ts'
import { CrashLog } from './crash-log.ts'
import { endAll, type Launched, launch, makeWorkingDir } from './harness.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
const rounds = isLong ? 60 : 4
const seed = isLong ? randomInt(2 ** 31) : 20_261_115
const clientCount = 8
const namesPerClient = 5
const minAnswers = 50
const maxAnswers = 300
const namespace = 'crash'
const labels = { written: 'here' }
const labelSelector = 'written=here'

let workingDir: string
const clients: KubeClient[] = []

beforeEach(() => {
  workingDir = makeWorkingDir()
})
afterEach(async () => {
  await closeClients()
  await endAll()
})

it(`keeps every acknowledged write over ${rounds} crashes (seed ${seed})`, async () => {
  const log = new CrashLog()
  const random = seededRandom(seed)
  for (let round = 0; round < rounds; round++) {
    const { server, objects } = await start()
    const { items, metadata } = await objects.list({ labelSelector })
    const writesBefore = log.writes.length
    log.check(items, Number(metadata.resourceVersion))
    await checkWatch(objects, log, log.writes[Math.floor(random() * writesBefore)]?.version)
    await loadUntilKilled(server, log, random)
    await closeClients()
  }
})

async function start(): Promise<{ server: Launched; objects: ResourceClient<ConfigMap> }> {
  const flags = ['--data-dir', 'data', '--secure-port', '0', '--health-address', '127.0.0.1:0']
  const server = launch(['apiserver', ...flags], { workingDir })
  await server.shows(/admin\.kubeconfig\n/)
  const client = await connect()
  const known = await client.resource(namespaces).list({ fieldSelector: `metadata.name=${namespace}` })
  if (known.items.length === 0) await client.resource(namespaces).create({ metadata: { name: namespace } })
  return { server, objects: client.resource(configMaps).in(namespace) }
}

async function connect(): Promise<KubeClient> {
  const client = new KubeClient(await loadKubeconfig({ file: join(workingDir, 'data/admin.kubeconfig') }))
  clients.push(client)
  return client
}

async function closeClients(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.close()))
}

/** Eight clients write until so many answers have come; then the server is killed in the middle of the others. */
async function loadUntilKilled(server: Launched, log: CrashLog, random: () => number): Promise<void> {
  const enough = log.answers + minAnswers + Math.floor(random() * (maxAnswers - minAnswers))
  const writers = Array.from({ length: clientCount }, async (_, index) => {
    const objects = (await connect()).resource(configMaps).in(namespace)
    const names = Array.from({ length: namesPerClient }, (_name, name) => `c${index}-${name}`)
    while (await writeOnce(objects, log, names, random)) if (log.answers >= enough) server.kill('SIGKILL')
  })
  await Promise.all(writers)
  await server.exited
}

/** False when no answer came. */
async function writeOnce(
  objects: ResourceClient<ConfigMap>,
  log: CrashLog,
  names: readonly string[],
  random: () => number,
): Promise<boolean> {
  const name = names[Math.floor(random() * names.length)] as string
  const state = log.stateOf(name)
  const exists = state?.value !== undefined
  const value = exists && random() < 0.3 ? undefined : String(random())
  const highest = log.highestVersion
  log.sent(name, value)
  try {
    if (value === undefined) {
      await objects.delete(name)
      log.answered(name, undefined, undefined)
      return true
    }
    const data = { value }
    const written = exists
      ? await objects.update({ metadata: { name, labels, resourceVersion: String(state.version) }, data })
      : await objects.create({ metadata: { name, labels }, data })
    const version = Number(written.metadata?.resourceVersion)
    expect(version).toBeGreaterThan(highest)
    log.answered(name, value, version)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code < 500) throw error
    if (error instanceof Error && error.name === 'AssertionError') throw error
    return false
  }
}

/** From a version before the crash: all that was answered since, once and in order; or the word that it is too old. */
async function checkWatch(objects: ResourceClient<ConfigMap>, log: CrashLog, from: number | undefined): Promise<void> {
  if (from === undefined) return
  const expected = log.writes.filter(({ version }) => version > from).sort((one, other) => one.version - other.version)
  const last = await objects.create({ metadata: { generateName: 'sentinel-', labels } })
  const seen: { name: string; value: string | undefined; version: number; type: string }[] = []
  try {
    const watch = await objects.watch({ labelSelector, resourceVersion: String(from) })
    for await (const { type, object } of watch) {
      const { name = '', resourceVersion } = object.metadata ?? {}
      if (name === last.metadata?.name) break
      seen.push({ type, name, value: object.data?.['value'], version: Number(resourceVersion) })
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 410) throw error
    return
  } finally {
    await objects.delete(last.metadata?.name ?? '')
  }
  const versions = seen.map(({ version }) => version)
  expect(versions).toEqual([...new Set(versions)].sort((one, other) => one - other))
  const written = new Map(seen.filter(({ type }) => type !== 'DELETED').map((event) => [event.version, event]))
  for (const write of expected) expect(written.get(write.version)).toMatchObject(write)
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function seededRandom(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
