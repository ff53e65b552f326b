/** Many watchers of one collection: how soon all have a change, and what their watching takes from the API server. */
import { type Bench, inTurns, measureEvents } from '../real-cluster/measurements.ts'
import { PATHS } from '../real-cluster/objects.ts'
import type { RunningBench } from '../real-cluster/run.ts'
import type { Way } from '../real-cluster/ways.ts'
import { metricsAt, sumOf } from './metrics.ts'

const fanOuts = [50, 100]
/** Of the most watchers at a time. */
export const WATCHERS = Math.max(...fanOuts)
const changes = 100
/** The API server has much to say, and is not to be kept busy by saying it. */
const samplePollMs = 300

export async function measureFanOut(bench: Bench): Promise<void> {
  for (const clients of fanOuts) await measureEvents(bench, clients)
}

interface Counts {
  /** Watches of the collection at the API server. */
  readonly watches: number
  /** Bytes of events that it has sent on them. */
  readonly sentBytes: number
  /** What the feeds of an edge have taken from there, and what their readers were given. */
  readonly receivedBytes: number
  readonly givenBytes: number
}

/** What 100 watchers of one collection cost the API server and the link, by the counts of both ends. */
export async function measureSharing(bench: RunningBench): Promise<void> {
  const name = `${WATCHERS} watchers`
  await inTurns(bench, name, async (way) => {
    const before = await countsOf(bench, way)
    const { watches, total } = await watchesDuring(bench, way)
    const after = await countsOf(bench, way)
    const add = (row: string, value: number): void => bench.table.add(`${name}, ${row}`, 'less', way.name, value)
    add('upstream watches', watches - before.watches)
    add('B/change from API server', (after.sentBytes - before.sentBytes) / total)
    if (way.metricsUrl === undefined) return
    add('B/change taken by feeds', (after.receivedBytes - before.receivedBytes) / total)
    add('B/change given by feeds', (after.givenBytes - before.givenBytes) / total)
  })
}

/** The last count that was complete while all were watching, and how many changes there were. */
async function watchesDuring(bench: RunningBench, way: Way): Promise<{ watches: number; total: number }> {
  const command = { op: 'events', server: way.server, path: PATHS.watched, clients: WATCHERS, writes: changes } as const
  let isOver = false
  let watches = Number.NaN
  const sample = async (): Promise<void> => {
    const counts = await countsOf(bench, way)
    if (!isOver) watches = counts.watches
  }
  const timer = setInterval(() => void sample().catch(() => {}), samplePollMs)
  try {
    const { total } = await bench.driver.ask(command)
    return { watches, total }
  } finally {
    isOver = true
    clearInterval(timer)
  }
}

async function countsOf({ world }: RunningBench, { metricsUrl }: Way): Promise<Counts> {
  const server = await world.cluster.admin.call('GET', '/metrics')
  const edge = metricsUrl === undefined ? '' : await metricsAt(metricsUrl)
  return {
    watches: sumOf(server, 'apiserver_longrunning_requests', { verb: 'WATCH', resource: 'configmaps' }),
    sentBytes: sumOf(server, 'apiserver_watch_events_sizes_sum', { resource: 'configmaps' }),
    receivedBytes: sumOf(edge, 'causeway_edge_feed_received_bytes_total'),
    givenBytes: sumOf(edge, 'causeway_edge_replica_given_bytes_total', { source: 'feed' }),
  }
}
