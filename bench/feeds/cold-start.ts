/**
 * An edge that is started while there is no hub, with a replica on its disk: how long until a client has its list, and how much memory
 * the replica takes. It comes last, since the hub is stopped for it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from '../real-cluster/admin.ts'
import { anyVersion, makePods, PATHS, podsOf, SMALL_LIST } from '../real-cluster/objects.ts'
import type { RunningBench } from '../real-cluster/run.ts'
import { answering, type EdgeWish, endpointEdge, restartEdge, startEdge, statusOf } from '../real-cluster/ways.ts'
import { endProcess, residentMiB } from '../tunnel/processes.ts'
import { atLeast } from './metrics.ts'

const replicaSizes = [2_000, 20_000]
/** So many objects are in each collection, but the first two together, of which the one that is asked for is the small one. */
const collectionSize = 1_000
const pollMs = 5
const patienceMs = 30_000
/** What the start has left behind is collected, and what waits to be written is. */
const restMs = 5_000

interface Replica {
  readonly objects: number
  readonly wish: EdgeWish
}

export async function measureColdStart(bench: RunningBench): Promise<void> {
  const { world, hub, ways, rounds } = bench
  // Nobody else is to need the processors now.
  for (const way of ways) await way.stop()
  const paths = await seedCollections(world.cluster.admin)
  const replicas: Replica[] = []
  for (const objects of replicaSizes) {
    const wish = await endpointEdge(world, hub, `edge-${objects}`)
    const replica = { objects, wish }
    await fill(bench, replica, paths.slice(0, objects / collectionSize + 1))
    await measureOnline(bench, replica)
    replicas.push(replica)
  }
  await endProcess(hub.child)
  for (let round = 0; round < rounds; round++) for (const replica of replicas) await measureOffline(bench, replica)
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

/** Each collection is read by a pod of its own, as online any is, and is on disk before the edge ends. */
async function fill({ world }: RunningBench, { objects, wish }: Replica, paths: readonly string[]): Promise<void> {
  const way = await startEdge(world, wish)
  for (const [index, path] of paths.entries()) {
    const status = await statusOf(way.server + path, world.cluster.tokens[index])
    if (status !== '200') throw new Error(`LIST ${path}: ${status}`)
  }
  await atLeast(way.metricsUrl ?? '', objects, 'causeway_edge_keeping_kept', { kind: 'entries' })
  await way.stop()
}

async function measureOnline({ world, table }: RunningBench, { objects, wish }: Replica): Promise<void> {
  const way = restartEdge(world, wish)
  await answering(way, world)
  await sleep(restMs)
  table.add(`RSS online, ${objects} objects, MiB`, 'less', way.name, residentMiB(way.agent))
  await way.stop()
}

async function measureOffline({ world, table }: RunningBench, { objects, wish }: Replica): Promise<void> {
  const startMs = performance.now()
  const way = restartEdge(world, wish)
  const url = way.server + anyVersion(PATHS.list)
  while ((await statusOf(url, world.cluster.tokens[0])) !== '200') {
    if (performance.now() - startMs > patienceMs) throw new Error(`no list without a link within ${patienceMs} ms`)
    await sleep(pollMs)
  }
  table.add(`cold start, ${objects} objects, ms`, 'less', way.name, performance.now() - startMs)
  await sleep(restMs)
  table.add(`RSS offline, ${objects} objects, MiB`, 'less', way.name, residentMiB(way.agent))
  await way.stop()
}
