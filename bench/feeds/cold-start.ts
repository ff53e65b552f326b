/**
 * Agents that are started while nobody is there to ask, with a replica on their disk: how long until a client has its list, and how
 * much memory the replica takes. It comes last, since the hub and the API server are stopped for it.
 */
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from '../real-cluster/admin.ts'
import { anyVersion, makePods, PATHS, podsOf, SMALL_LIST } from '../real-cluster/objects.ts'
import { poll } from '../real-cluster/polling.ts'
import type { RunningBench } from '../real-cluster/run.ts'
import { answering, causeway, type Restartable, statusOf, type Way } from '../real-cluster/ways.ts'
import { cacheOf, yurtHub } from '../real-cluster/yurthub.ts'
import { cpuMs, endProcess, residentMiB } from '../tunnel/processes.ts'
import { metricsAt, sumOf } from './metrics.ts'

/** The least is the list that is asked for and nothing else: what a start costs by itself. */
const replicaSizes = [SMALL_LIST, 2_000, 20_000]
/** So many objects are in each collection, but the first two together, of which the small one is asked for. */
const collectionSize = 1_000
const startPolling = { pollMs: 5, patienceMs: 60_000 }
const keepingPolling = { pollMs: 100, patienceMs: 60_000 }
/** What the start has left behind is collected, and what waits to be written is written. */
const restMs = 5_000

interface Replica extends Restartable {
  readonly objects: number
  /** How many of them are on disk. */
  readonly kept: (way: Way) => Promise<number>
}

export async function measureColdStart(bench: RunningBench): Promise<void> {
  const { world, hub, rounds } = bench
  const names = new Set(bench.ways.map(({ name }) => name))
  // Nobody else is to need the processors now.
  for (const way of bench.ways) await way.stop()
  await keepOfAll(world.cluster.admin)
  const paths = await seedCollections(world.cluster.admin)
  const replicas: Replica[] = []
  for (const objects of replicaSizes) {
    if (names.has('causeway')) replicas.push(await edgeReplica(bench, objects))
    if (names.has('yurthub')) replicas.push(await yurtHubReplica(bench, objects))
  }
  for (const replica of replicas) {
    await fill(bench, replica, paths.slice(0, 1 + replica.objects / collectionSize))
    await measureOnline(bench, replica)
  }
  await endProcess(hub.child)
  await world.cluster.plane.killApiServer()
  for (let round = 0; round < rounds; round++) for (const replica of replicas) await measureOffline(bench, replica)
}

async function edgeReplica({ world, hub }: RunningBench, objects: number): Promise<Replica> {
  const kept = async ({ metricsUrl = '' }: Way): Promise<number> =>
    sumOf(await metricsAt(metricsUrl), 'causeway_edge_keeping_kept', { kind: 'entries' })
  return { ...(await causeway(world, hub, `edge-${objects}`)), objects, kept }
}

async function yurtHubReplica({ world }: RunningBench, objects: number): Promise<Replica> {
  const node = `yurt-${objects}`
  const kept = async (): Promise<number> => filesOf(cacheOf(world, node)).length
  return { ...(await yurtHub(world, node)), objects, kept }
}

/** It keeps one for each object, below the name of the component, in folders that it moves while they are looked at. */
function filesOf(cache: string): string[] {
  try {
    const names = readdirSync(cache, { recursive: true, encoding: 'utf8' })
    return names.filter((name) => /component-.*pod-\d+$/.test(name))
  } catch {
    return []
  }
}

/** Of each component YurtHub keeps one list of a resource and no more, so every list is of another. */
function componentOf(index: number): string {
  return `component-${index}/1.0`
}

/** YurtHub keeps what a few components read that it knows, unless it is told otherwise. */
async function keepOfAll(admin: Admin): Promise<void> {
  const name = 'yurt-hub-cfg'
  const settings = { metadata: { name, labels: { 'openyurt.io/configmap-name': name } }, data: { cache_agents: '*' } }
  await admin.post('/api/v1/namespaces/kube-system/configmaps', settings)
}

/** Resolves with the paths of the collections, the one that is asked for first. */
async function seedCollections(admin: Admin): Promise<string[]> {
  const paths = [PATHS.list]
  for (let index = 0; index < Math.max(...replicaSizes) / collectionSize; index++) {
    const namespace = `bench-kept-${index}`
    await makePods(admin, namespace, index === 0 ? collectionSize - SMALL_LIST : collectionSize)
    paths.push(podsOf(namespace))
  }
  return paths
}

/** Each collection is read by a client of its own, and is on disk before the agent ends. */
async function fill({ world, table }: RunningBench, replica: Replica, paths: readonly string[]): Promise<void> {
  const way = await replica.start()
  for (const [index, path] of paths.entries()) {
    const status = await statusOf(way.server + path, world.cluster.tokens[index], componentOf(index))
    if (status !== '200') table.note(`${way.name}, LIST ${path}: ${status}`)
  }
  const kept = await poll(
    () => replica.kept(way),
    (objects) => objects >= replica.objects,
    keepingPolling,
  )
  if (kept < replica.objects) table.note(`${way.name} keeps ${kept} of ${replica.objects} objects`)
  await way.stop()
}

async function measureOnline({ world, table }: RunningBench, replica: Replica): Promise<void> {
  const way = replica.restart()
  await answering(way, world)
  await sleep(restMs)
  table.add(`RSS online, ${replica.objects} objects, MiB`, 'less', way.name, residentMiB(way.agent))
  await way.stop()
}

async function measureOffline({ world, table }: RunningBench, replica: Replica): Promise<void> {
  const startMs = performance.now()
  const way = replica.restart()
  const ask = (): Promise<string> =>
    statusOf(way.server + anyVersion(PATHS.list), world.cluster.tokens[0], componentOf(0))
  const status = await poll(ask, (each) => each === '200', startPolling)
  if (status === '200') {
    table.add(`cold start, ${replica.objects} objects, ms`, 'less', way.name, performance.now() - startMs)
    // What a busy machine does not make longer.
    table.add(`cold start, ${replica.objects} objects, CPU ms`, 'less', way.name, cpuMs(way.agent))
    await sleep(restMs)
    table.add(`RSS offline, ${replica.objects} objects, MiB`, 'less', way.name, residentMiB(way.agent))
  } else table.note(`${way.name} does not answer without a link yet: ${status}`)
  await way.stop()
}
