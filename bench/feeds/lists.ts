/** LISTs that may be of any version, of collections that somebody watches: an edge answers them from its feeds. */
import { type Bench, measureReading, type Reading } from '../real-cluster/measurements.ts'
import { anyVersion, BIG_LIST, PATHS, SMALL_LIST } from '../real-cluster/objects.ts'
import { poll } from '../real-cluster/polling.ts'
import { metricsAt, sumOf } from './metrics.ts'

const collections = [
  { count: SMALL_LIST, path: PATHS.list },
  { count: BIG_LIST, path: PATHS.bigList },
]
const numbersOfClients = [1, 16, 32]
const polling = { pollMs: 100, patienceMs: 20_000 }

const readings: readonly Reading[] = collections.flatMap(({ count, path }) => [
  ...numbersOfClients.map((clients) => ({
    name: `LIST ${count}, ${clients === 1 ? '1 client' : `${clients} clients`}`,
    path: anyVersion(path),
    clients,
  })),
  // As client-go asks.
  { name: `LIST ${count} gzip, 1 client`, path: anyVersion(path), clients: 1, gzip: true },
])

export async function measureLists(bench: Bench): Promise<void> {
  await watchAll(bench)
  const before = await listsOf(bench)
  for (const reading of readings) await measureReading(bench, reading)
  const after = await listsOf(bench)
  const fromFeeds = (after.fromFeeds - before.fromFeeds) / (after.all - before.all)
  bench.table.note(`of the LISTs of this edge, ${(fromFeeds * 100).toFixed(2)} % came from its feeds`)
  await bench.driver.ask({ op: 'release' })
}

/** One watcher of each collection on every way: a feed follows while it has a reader, and the others are to do no less. */
async function watchAll({ ways, driver }: Bench): Promise<void> {
  for (const { server, metricsUrl } of ways) {
    for (const { path } of collections) {
      const watch = `${anyVersion(path)}&watch=true&timeoutSeconds=1800`
      const { failure } = await driver.ask({ op: 'hold', server, path: watch, clients: 1, streams: 1 })
      if (failure !== undefined) throw new Error(`${server} has no watch of ${path}: ${failure}`)
    }
    if (metricsUrl === undefined) continue
    const following = await poll(
      async () => sumOf(await metricsAt(metricsUrl), 'causeway_edge_feeds', { state: 'following' }),
      (feeds) => feeds >= collections.length,
      polling,
    )
    if (following < collections.length) throw new Error(`only ${following} feeds follow`)
  }
}

/** How many lists our edge has answered, and how many of them by itself. */
async function listsOf({ ways }: Bench): Promise<{ all: number; fromFeeds: number }> {
  const url = ways.find(({ metricsUrl }) => metricsUrl !== undefined)?.metricsUrl
  const text = url === undefined ? '' : await metricsAt(url)
  const reads = (labels: Record<string, string>): number =>
    sumOf(text, 'causeway_edge_replica_reads_total', { verb: 'list', ...labels })
  return { all: reads({}), fromFeeds: reads({ source: 'feed' }) }
}
