/** The measurements, each taken from all ways in turns, so that a busy machine disturbs them alike. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs, residentMiB } from '../tunnel/processes.ts'
import type { Table } from '../tunnel/table.ts'
import type { Driver } from './driver.ts'
import { BIG_LIST, PATHS, SMALL_LIST } from './objects.ts'
import type { Way } from './ways.ts'

/** Closed connections are cleared away, buffers returned. */
const settleMs = 300
const warmUpMs = 4_000
const manyClients = 32
const manyWatchers = 50
/** As from 50 pods with 20 informers each; where there is no HTTP/2 every one is a connection. */
const idleWatches = { clients: 50, streams: 20 }
const idleCount = idleWatches.clients * idleWatches.streams
/** How many changes fit into a second with 50 watchers, roughly: a round of them is to take as long as any other. */
const writesPerSecond = 60

export interface Bench {
  readonly ways: readonly Way[]
  readonly driver: Driver
  readonly table: Table
  readonly ms: number
  readonly rounds: number
  /** kube-apiserver and etcd. */
  readonly plane: readonly { readonly pid: number }[]
}

interface Reading {
  readonly name: string
  readonly path: string
  readonly clients: number
  readonly gzip?: boolean
}

const gets: readonly Reading[] = [
  { name: 'GET, 1 client', path: PATHS.get, clients: 1 },
  { name: `GET, ${manyClients} clients`, path: PATHS.get, clients: manyClients },
]
const lists: readonly Reading[] = [
  { name: `LIST ${SMALL_LIST}, 1 client`, path: PATHS.list, clients: 1 },
  { name: `LIST ${SMALL_LIST}, ${manyClients} clients`, path: PATHS.list, clients: manyClients },
  { name: `LIST ${BIG_LIST}, 1 client`, path: PATHS.bigList, clients: 1 },
  { name: `LIST ${BIG_LIST} gzip, 1 client`, path: PATHS.bigList, clients: 1, gzip: true },
]

/** An agent runs for months: how fast it compiles its code in the first thousands of requests is not what is measured. */
export async function warmUp({ ways, driver }: Bench): Promise<void> {
  for (const { server } of ways) {
    await driver.ask({ op: 'requests', server, path: PATHS.get, clients: manyClients, ms: warmUpMs })
    await driver.ask({ op: 'requests', server, path: PATHS.get, clients: 1, ms: warmUpMs / 2 })
    await driver.ask({ op: 'requests', server, path: PATHS.list, clients: 1, ms: warmUpMs / 2 })
  }
}

export async function measureGets(bench: Bench): Promise<void> {
  for (const reading of gets) await measureReading(bench, reading)
}

export async function measureLists(bench: Bench): Promise<void> {
  for (const reading of lists) await measureReading(bench, reading)
}

async function measureReading(bench: Bench, { name, ...command }: Reading): Promise<void> {
  const { driver, table, ms } = bench
  await inTurns(bench, name, async (way) => {
    const agent = stopwatch(way.agent)
    const all = stopwatch([...way.agent, ...way.cloud])
    const plane = stopwatch(bench.plane)
    const answer = await driver.ask({ op: 'requests', server: way.server, ms, ...command })
    const hasAny = answer.count > 0
    table.add(`${name}, p50 ms`, 'less', way.name, hasAny ? answer.p50Ms : Number.NaN)
    table.add(`${name}, p99 ms`, 'less', way.name, hasAny ? answer.p99Ms : Number.NaN)
    table.add(`${name}, per s`, 'more', way.name, answer.count / answer.seconds)
    if (way.agent.length > 0) {
      table.add(`${name}, agent CPU s/1k`, 'less', way.name, agent() / answer.total)
      table.add(`${name}, +hub CPU s/1k`, 'less', way.name, all() / answer.total)
    }
    table.add(`${name}, API server CPU s/1k`, 'less', way.name, plane() / answer.total)
    // Where this comes near to what the others need, the load generator is what is measured.
    if (command.path === PATHS.get) table.add(`${name}, load CPU s/1k`, 'less', way.name, answer.cpuMs / answer.total)
    if (answer.failed > 0) table.note(`${way.name}, ${name}: ${answer.failed} failed, the last with ${answer.failure}`)
  })
}

/** From the moment a change is sent, directly, to the moment the last watcher has heard of it. */
export async function measureWatches(bench: Bench): Promise<void> {
  const { driver, table, ms } = bench
  const writes = Math.max(10, Math.round((ms / 1000) * writesPerSecond))
  for (const clients of [1, manyWatchers]) {
    const name = clients === 1 ? 'event to 1 watcher' : `event to all of ${clients}`
    await inTurns(bench, name, async ({ name: way, server }) => {
      const { p50Ms, p99Ms } = await driver.ask({ op: 'events', server, path: PATHS.watched, clients, writes })
      table.add(`${name}, p50 ms`, 'less', way, p50Ms)
      table.add(`${name}, p99 ms`, 'less', way, p99Ms)
    })
  }
}

export async function measureExec(bench: Bench): Promise<void> {
  await inTurns(bench, 'exec', async (way) => {
    const command = { op: 'exec', server: way.server, path: PATHS.exec, ms: bench.ms } as const
    const { bytes, seconds } = await bench.driver.ask(command)
    bench.table.add('exec output, MB/s', 'more', way.name, bytes / 1e6 / seconds)
  })
}

export async function measureIdleWatches({ ways, driver, table }: Bench): Promise<void> {
  for (const { name, server, agent } of ways) {
    if (agent.length === 0) continue
    const { count, failure } = await driver.ask({ op: 'hold', server, path: PATHS.idleWatch, ...idleWatches })
    await sleep(settleMs * 3)
    if (count < idleCount) table.note(`${name}: only ${count} of ${idleCount} watches could be held: ${failure}`)
    const mebibytes = count < idleCount ? Number.NaN : residentMiB(agent)
    table.add(`agent RSS, ${idleCount} idle watches, MiB`, 'less', name, mebibytes)
    await driver.ask({ op: 'release' })
    await sleep(settleMs)
  }
}

export function measureMemory({ ways, table }: Bench, when: string): void {
  for (const { name, agent } of ways)
    if (agent.length > 0) table.add(`agent RSS, ${when}, MiB`, 'less', name, residentMiB(agent))
}

/** Processor time in milliseconds from now on. */
function stopwatch(processes: Parameters<typeof cpuMs>[0]): () => number {
  const startMs = cpuMs(processes)
  return () => cpuMs(processes) - startMs
}

async function inTurns({ ways, rounds, table }: Bench, name: string, measure: (way: Way) => Promise<void>) {
  for (let round = 0; round < rounds; round++) {
    for (const way of [...ways.slice(round % ways.length), ...ways.slice(0, round % ways.length)]) {
      try {
        await measure(way)
      } catch (error) {
        table.note(`${way.name}, ${name}, failed: ${error instanceof Error ? error.message : String(error)}`)
      }
      await sleep(settleMs)
    }
  }
}
