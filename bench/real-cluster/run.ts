/**
 * What every bench beside a real cluster does before and after it measures: it reads its options, starts the cluster, the hub, the
 * ways and the load, and leaves nothing behind.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { missingPeers, peersDirectory } from '../../test/real/control-plane.ts'
import { endProcess } from '../tunnel/processes.ts'
import { Table } from '../tunnel/table.ts'
import { type ClusterWish, startCluster } from './cluster.ts'
import { Driver } from './driver.ts'
import type { Bench } from './measurements.ts'
import { direct, type Hub, startHub, type Way, type World } from './ways.ts'

export interface Options {
  /** Of a process that the bench has made of itself. */
  readonly role: string | undefined
  readonly rounds: number
  /** Names of steps. */
  readonly wanted: ReadonlySet<string>
  /** Names of ways. */
  readonly unwanted: ReadonlySet<string>
  readonly profileDir: string | undefined
  /** How long a measurement lasts. */
  readonly ms: number
}

/** A way besides the direct one, which there always is. */
export interface WayWish {
  readonly name: string
  readonly start: (world: World, hub: Hub) => Promise<Way>
}

export interface BenchWish extends ClusterWish {
  readonly options: Options
  readonly ways: readonly WayWish[]
}

export interface RunningBench extends Bench {
  readonly world: World
  readonly hub: Hub
  /** Does what is wanted, and says when; what fails is noted, and the rest goes on. */
  step(name: string, work: (bench: RunningBench) => Promise<void>): Promise<void>
}

/** `steps` are the names of all there are, with commas. */
export function readOptions(steps: string): Options {
  const { values } = parseArgs({
    options: {
      role: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: steps },
      without: { type: 'string', default: '' },
      profile: { type: 'string' },
    },
  })
  return {
    role: values.role,
    rounds: Number(values.rounds),
    wanted: new Set(values.only.split(',')),
    unwanted: new Set(values.without.split(',')),
    profileDir: values.profile,
    ms: Number(process.env['BENCH_MS'] ?? 800),
  }
}

/** Prints the table when everything has been measured. */
export async function runBench(wish: BenchWish, measure: (bench: RunningBench) => Promise<void>): Promise<void> {
  const missing = missingPeers(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])
  if (missing.length > 0) throw new Error(`nothing can be measured: no ${missing.join(', ')} in ${peersDirectory()}`)
  const table = new Table()
  const [lastMinute = 0] = loadavg()
  table.note(`load average ${lastMinute.toFixed(2)} at the start, ${availableParallelism()} processors`)
  const folder = mkdtempSync(join(tmpdir(), 'causeway-bench-'))
  const cluster = await startCluster(wish)
  try {
    await inWorld({ folder, cluster, profileDir: wish.options.profileDir }, wish, table, measure)
  } finally {
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function inWorld(
  world: World,
  wish: BenchWish,
  table: Table,
  measure: (bench: RunningBench) => Promise<void>,
): Promise<void> {
  const { ms, rounds, wanted } = wish.options
  const { plane, tokens } = world.cluster
  const driver = await Driver.start(world.folder, { direct: plane.server, caFile: plane.caFile, tokens })
  const hub = await startHub(world)
  const ways = await startWays(world, hub, wish, table)
  const pids = plane.pids().map((pid) => ({ pid }))
  const bench: RunningBench = {
    ...{ world, hub, ways, driver, table, ms, rounds, plane: pids },
    step: async (name, work) => {
      if (!wanted.has(name)) return
      console.log(`${new Date().toISOString().slice(11, 19)} ${name}`)
      try {
        await work(bench)
      } catch (error) {
        table.note(`${name} failed: ${error instanceof Error ? error.message : String(error)}`)
      }
    },
  }
  try {
    await measure(bench)
  } finally {
    for (const way of ways) await way.stop()
    await endProcess(hub.child)
    driver.stop()
  }
  print(
    table,
    ways.map(({ name }) => name),
  )
}

async function startWays(world: World, hub: Hub, { ways, options }: BenchWish, table: Table): Promise<Way[]> {
  const started = [direct(world)]
  for (const { name, start } of ways) {
    if (options.unwanted.has(name)) continue
    try {
      started.push(await start(world, hub))
    } catch (error) {
      table.note(`without ${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return started
}

function print(table: Table, names: readonly string[]): void {
  const ratios = [
    ['causeway', 'direct'],
    ['tunnel only', 'direct'],
    ['yurthub', 'direct'],
    ['causeway', 'yurthub'],
  ] as const
  table.print(
    names,
    ratios.filter((pair) => pair.every((name) => names.includes(name))),
  )
}
