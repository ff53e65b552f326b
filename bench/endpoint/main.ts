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
import { measureMemory, warmUp } from '../real-cluster/measurements.ts'
import { type RunningBench, readOptions, runBench } from '../real-cluster/run.ts'
import { startCauseway, startTunnel } from '../real-cluster/ways.ts'
import { startYurtHub } from '../real-cluster/yurthub.ts'
import { endProcess, residentMiB, startRole } from '../tunnel/processes.ts'
import { type KubeletApi, serveKubelet } from './fake-kubelet.ts'
import { seedQuiet } from './quiet-objects.ts'
import { CLIENTS, measureExec, measureGets, measureIdleWatches, measureLists, measureWatches } from './suite.ts'

const options = readOptions('gets,lists,watches,exec,idle')
const ways = [
  { name: 'causeway', start: startCauseway },
  { name: 'tunnel', start: startTunnel },
  { name: 'yurthub', start: startYurtHub },
]

if (options.role === 'kubelet') serveKubelet()
else await run()

async function run(): Promise<void> {
  const kubelet = startRole<KubeletApi>('kubelet')
  try {
    const wish = {
      ...{ options, ways, clients: CLIENTS },
      seedMore: async (admin: Parameters<typeof seedQuiet>[0], directory: string): Promise<void> =>
        await seedQuiet(admin, await kubelet.calls.listen(directory)),
    }
    await runBench(wish, measureAll)
  } finally {
    await endProcess(kubelet.child)
  }
  process.exit(0)
}

async function measureAll(bench: RunningBench): Promise<void> {
  measureMemory(bench, 'at start')
  await bench.step('idle', measureIdleWatches)
  await warmUp(bench)
  await bench.step('gets', measureGets)
  await bench.step('lists', measureLists)
  await bench.step('watches', measureWatches)
  await bench.step('exec', measureExec)
  measureMemory(bench, 'at end')
  bench.table.note(`hub RSS at the end ${residentMiB([bench.hub.child]).toFixed(1)} MiB`)
}
