/** What benches measure of a way to the API server, taken from all ways in turns, so that a busy machine disturbs them alike. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs, residentMiB } from '../tunnel/processes.ts'
import type { Table } from '../tunnel/table.ts'
import type { Driver } from './driver.ts'
import { PATHS } from './objects.ts'
import type { Way } from './ways.ts'

/** Closed connections are cleared away, buffers returned. */
export const SETTLE_MS = 300
const warmUpMs = 4_000
const warmUpClients = 32
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

export interface Reading {
  readonly name: string
  readonly path: string
  readonly clients: number
  readonly gzip?: boolean
}

/** An agent runs for months: how fast it compiles its code in the first thousands of requests is not what is measured. */
export async function warmUp({ ways, driver }: Bench): Promise<void> {
  for (const { server } of ways) {
    await driver.ask({ op: 'requests', server, path: PATHS.get, clients: warmUpClients, ms: warmUpMs })
    await driver.ask({ op: 'requests', server, path: PATHS.get, clients: 1, ms: warmUpMs / 2 })
    await driver.ask({ op: 'requests', server, path: PATHS.list, clients: 1, ms: warmUpMs / 2 })
  }
}

export async function measureReading(bench: Bench, { name, ...command }: Reading): Promise<void> {
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
    table.add(`${name}, load CPU s/1k`, 'less', way.name, answer.cpuMs / answer.total)
    if (answer.failed > 0) table.note(`${way.name}, ${name}: ${answer.failed} failed, the last with ${answer.failure}`)
  })
}

/** From the moment a change is sent, directly, to the moment the last watcher has heard of it. */
export async function measureEvents(bench: Bench, clients: number): Promise<void> {
  const { driver, table } = bench
  const name = clients === 1 ? 'event to 1 watcher' : `event to all of ${clients}`
  await inTurns(bench, name, async ({ name: way, server }) => {
    const writes = writesOf(bench)
    const { p50Ms, p99Ms } = await driver.ask({ op: 'events', server, path: PATHS.watched, clients, writes })
    table.add(`${name}, p50 ms`, 'less', way, p50Ms)
    table.add(`${name}, p99 ms`, 'less', way, p99Ms)
  })
}

/** How many changes a round of watching makes. */
function writesOf({ ms }: Bench): number {
  return Math.max(10, Math.round((ms / 1000) * writesPerSecond))
}

export function measureMemory({ ways, table }: Bench, when: string): void {
  for (const { name, agent } of ways)
    if (agent.length > 0) table.add(`agent RSS, ${when}, MiB`, 'less', name, residentMiB(agent))
}

/** What fails is noted, and the rest goes on. */
export async function inTurns(
  { ways, rounds, table }: Bench,
  name: string,
  measure: (way: Way) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const way of [...ways.slice(round % ways.length), ...ways.slice(0, round % ways.length)]) {
      try {
        await measure(way)
      } catch (error) {
        table.note(`${way.name}, ${name}, failed: ${error instanceof Error ? error.message : String(error)}`)
      }
      await sleep(SETTLE_MS)
    }
  }
}

/** Processor time in milliseconds from now on. */
function stopwatch(processes: Parameters<typeof cpuMs>[0]): () => number {
  const startMs = cpuMs(processes)
  return () => cpuMs(processes) - startMs
}
