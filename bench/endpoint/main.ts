/**
 * `npm run bench:endpoint`: the edge endpoint, its tunnel included, beside the API server itself and beside YurtHub.
 *
 *   --rounds 3          of which the median counts
 *   --only gets,...     some of gets, lists, watches, exec, idle
 *   --without yurthub   ways that are left out: causeway, tunnel, yurthub
 *   --profile DIR       leaves CPU profiles of our hub and edges there
 *
 * `BENCH_MS` says how long each measurement lasts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { missingPeers, peersDirectory } from '../../test/real/control-plane.ts'
import { endProcess, residentMiB, startRole } from '../tunnel/processes.ts'
import { Table } from '../tunnel/table.ts'
import { startCluster } from './cluster.ts'
import { Driver } from './driver.ts'
import { type KubeletApi, serveKubelet } from './fake-kubelet.ts'
import {
  type Bench,
  measureExec,
  measureGets,
  measureIdleWatches,
  measureLists,
  measureMemory,
  measureWatches,
  warmUp,
} from './suite.ts'
import { direct, type Hub, startCauseway, startHub, startTunnel, type Way, type World } from './ways.ts'
import { missingYurtHub, startYurtHub } from './yurthub.ts'

const { values } = parseArgs({
  options: {
    role: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: 'gets,lists,watches,exec,idle' },
    without: { type: 'string', default: '' },
    profile: { type: 'string' },
  },
})

const ms = Number(process.env['BENCH_MS'] ?? 800)
const wanted = new Set(values.only.split(','))
const unwanted = new Set(values.without.split(','))
const table = new Table()

if (values.role === 'kubelet') serveKubelet()
else await run()

async function run(): Promise<void> {
  const missing = missingPeers(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])
  if (missing.length > 0) throw new Error(`nothing can be measured: no ${missing.join(', ')} in ${peersDirectory()}`)
  const [lastMinute = 0] = loadavg()
  table.note(`load average ${lastMinute.toFixed(2)} at the start, ${availableParallelism()} processors`)
  const folder = mkdtempSync(join(tmpdir(), 'causeway-endpoint-'))
  const kubelet = startRole<KubeletApi>('kubelet')
  const cluster = await startCluster((directory) => kubelet.calls.listen(directory))
  try {
    await compare({ folder, cluster, profileDir: values.profile })
  } finally {
    await endProcess(kubelet.child)
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  process.exit(0)
}

async function compare(world: World): Promise<void> {
  const { plane, tokens } = world.cluster
  const driver = await Driver.start(world.folder, { direct: plane.server, caFile: plane.caFile, tokens })
  const hub = await startHub(world)
  const ways = await startWays(world, hub)
  try {
    await measureAll({
      ways,
      driver,
      table,
      ms,
      rounds: Number(values.rounds),
      plane: plane.pids().map((pid) => ({ pid })),
    })
    table.note(`hub RSS at the end ${residentMiB([hub.child]).toFixed(1)} MiB`)
  } finally {
    for (const way of ways) await way.stop()
    await endProcess(hub.child)
    driver.stop()
  }
  print(ways.map(({ name }) => name))
}

async function startWays(world: World, hub: Hub): Promise<Way[]> {
  const ways = [direct(world)]
  const add = async (name: string, start: () => Promise<Way>): Promise<void> => {
    if (unwanted.has(name)) return
    try {
      ways.push(await start())
    } catch (error) {
      table.note(`without ${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  await add('causeway', () => startCauseway(world, hub))
  await add('tunnel', () => startTunnel(world, hub))
  const reason = missingYurtHub()
  if (reason === undefined) await add('yurthub', () => startYurtHub(world))
  else table.note(reason)
  return ways
}

async function measureAll(bench: Bench): Promise<void> {
  const step = async (name: string, work: (bench: Bench) => Promise<void>): Promise<void> => {
    if (!wanted.has(name)) return
    console.log(`${new Date().toISOString().slice(11, 19)} ${name}`)
    await work(bench)
  }
  measureMemory(bench, 'at start')
  await step('idle', measureIdleWatches)
  await warmUp(bench)
  await step('gets', measureGets)
  await step('lists', measureLists)
  await step('watches', measureWatches)
  await step('exec', measureExec)
  measureMemory(bench, 'at end')
}

function print(names: readonly string[]): void {
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
