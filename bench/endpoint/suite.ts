/** The measurements of this bench. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Bench,
  inTurns,
  measureEvents,
  measureReading,
  type Reading,
  SETTLE_MS,
} from '../real-cluster/measurements.ts'
import { anyVersion, BIG_LIST, PATHS, SMALL_LIST } from '../real-cluster/objects.ts'
import { residentMiB } from '../tunnel/processes.ts'
import { QUIET_PATHS } from './quiet-objects.ts'

const manyClients = 32
const manyWatchers = 50
/** As from 50 pods with 20 informers each; where there is no HTTP/2 every one is a connection. */
const idleWatches = { clients: 50, streams: 20 }
const idleCount = idleWatches.clients * idleWatches.streams

const gets: readonly Reading[] = [
  { name: 'GET, 1 client', path: PATHS.get, clients: 1 },
  { name: `GET, ${manyClients} clients`, path: PATHS.get, clients: manyClients },
]
const lists: readonly Reading[] = [
  { name: `LIST ${SMALL_LIST}, 1 client`, path: PATHS.list, clients: 1 },
  { name: `LIST ${SMALL_LIST}, ${manyClients} clients`, path: PATHS.list, clients: manyClients },
  { name: `LIST ${BIG_LIST}, 1 client`, path: anyVersion(PATHS.bigList), clients: 1 },
  { name: `LIST ${BIG_LIST} gzip, 1 client`, path: anyVersion(PATHS.bigList), clients: 1, gzip: true },
]

/** Those of the idle watches are the most at a time. */
export const CLIENTS = Math.max(manyClients, manyWatchers, idleWatches.clients)

export async function measureGets(bench: Bench): Promise<void> {
  for (const reading of gets) await measureReading(bench, reading)
}

export async function measureLists(bench: Bench): Promise<void> {
  for (const reading of lists) await measureReading(bench, reading)
}

export async function measureWatches(bench: Bench): Promise<void> {
  for (const clients of [1, manyWatchers]) await measureEvents(bench, clients)
}

export async function measureExec(bench: Bench): Promise<void> {
  await inTurns(bench, 'exec', async (way) => {
    const command = { op: 'exec', server: way.server, path: QUIET_PATHS.exec, ms: bench.ms } as const
    const { bytes, seconds } = await bench.driver.ask(command)
    bench.table.add('exec output, MB/s', 'more', way.name, bytes / 1e6 / seconds)
  })
}

export async function measureIdleWatches({ ways, driver, table }: Bench): Promise<void> {
  for (const { name, server, agent } of ways) {
    if (agent.length === 0) continue
    const { count, failure } = await driver.ask({ op: 'hold', server, path: QUIET_PATHS.idleWatch, ...idleWatches })
    await sleep(SETTLE_MS * 3)
    if (count < idleCount) table.note(`${name}: only ${count} of ${idleCount} watches could be held: ${failure}`)
    const mebibytes = count < idleCount ? Number.NaN : residentMiB(agent)
    table.add(`agent RSS, ${idleCount} idle watches, MiB`, 'less', name, mebibytes)
    await driver.ask({ op: 'release' })
    await sleep(SETTLE_MS)
  }
}
