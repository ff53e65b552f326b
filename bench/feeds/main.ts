/**
 * `npm run bench:feeds`: what the feeds of an edge give, beside the API server itself and beside YurtHub.
 *
 *   --rounds 3          of which the median counts
 *   --only lists,...    some of lists, sharing, fanout, cold
 *   --without yurthub   ways that are left out: causeway, yurthub
 *   --profile DIR       leaves CPU profiles of our hub and edges there
 *
 * `BENCH_MS` says how long each measurement lasts.
 */
import { warmUp } from '../real-cluster/measurements.ts'
import { type RunningBench, readOptions, runBench } from '../real-cluster/run.ts'
import { startCauseway } from '../real-cluster/ways.ts'
import { startYurtHub } from '../real-cluster/yurthub.ts'
import { measureColdStart } from './cold-start.ts'
import { measureLists } from './lists.ts'
import { measureFanOut, measureSharing, WATCHERS } from './watchers.ts'

const options = readOptions('lists,sharing,fanout,cold')
const ways = [
  { name: 'causeway', start: startCauseway },
  { name: 'yurthub', start: startYurtHub },
]

await runBench({ options, ways, clients: WATCHERS }, measureAll)
process.exit(0)

async function measureAll(bench: RunningBench): Promise<void> {
  await warmUp(bench)
  await bench.step('lists', measureLists)
  await bench.step('sharing', measureSharing)
  await bench.step('fanout', measureFanOut)
  // Stops the hub and all ways.
  await bench.step('cold', measureColdStart)
}
