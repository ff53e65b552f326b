/**
 * `npm run bench:join`: how many edges a second one hub lets in, and what that costs it in memory. API server, hub and the
 * edges are processes of their own; the edges' keys and requests are made beforehand, so that they are not what is measured.
 *
 *   --edges 2000        how many join
 *   --connections 64    how many of them at a time
 *   --storage lmdb      or memory: where the API server keeps its objects
 *   --profile DIR       leaves a CPU profile of the hub there
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startCluster } from './cluster.ts'
import { type DriverReport, type DriverTask, drive } from './driver.ts'

const { values } = parseArgs({
  options: {
    edges: { type: 'string', default: '2000' },
    connections: { type: 'string', default: '64' },
    storage: { type: 'string', default: 'lmdb' },
    profile: { type: 'string' },
    driver: { type: 'boolean', default: false },
  },
})

if (values.driver) await drive()
else await bench(Number(values.edges), Number(values.connections))

async function bench(edges: number, connections: number): Promise<void> {
  const cluster = await startCluster(values.storage, values.profile)
  try {
    const idleMiB = cluster.hubMemory().nowMiB
    const driver = fork(fileURLToPath(import.meta.url), ['--driver'])
    const [isReady] = (
      await Promise.all([once(driver, 'message'), send(driver, { edges, connections, ...cluster })])
    )[0]
    if (isReady !== 'ready') throw new Error('the edges could not be made')
    console.log(`${edges} edges, ${connections} at a time, API server on ${values.storage}`)
    const before = cluster.cpuMs()
    driver.send('go')
    const [report] = (await once(driver, 'message')) as [DriverReport]
    const after = cluster.cpuMs()
    const cpuMs = { hub: (after.hub - before.hub) / edges, apiServer: (after.apiServer - before.apiServer) / edges }
    print(report, cpuMs, idleMiB, cluster.hubMemory())
  } finally {
    await cluster.stop()
  }
}

function send(driver: ReturnType<typeof fork>, { edges, connections, url, jwt }: DriverTask): Promise<void> {
  return new Promise((resolve, reject) => {
    driver.send({ edges, connections, url, jwt } satisfies DriverTask, (error) => (error ? reject(error) : resolve()))
  })
}

function print(
  report: DriverReport,
  cpuMs: { readonly hub: number; readonly apiServer: number },
  idleMiB: number,
  memory: { readonly nowMiB: number; readonly peakMiB: number },
): void {
  const lines: [string, string][] = [
    ['joins per second', report.perSecond.toFixed(1)],
    ['answer, p50 ms', report.p50Ms.toFixed(1)],
    ['answer, p99 ms', report.p99Ms.toFixed(1)],
    ['hub, CPU ms for each join', cpuMs.hub.toFixed(2)],
    ['API server, CPU ms for each', cpuMs.apiServer.toFixed(2)],
    ['turned away and repeated', String(report.repeated)],
    ['failed', String(report.failed)],
    ['hub MiB before', idleMiB.toFixed(1)],
    ['hub MiB at most', memory.peakMiB.toFixed(1)],
    ['hub MiB after', memory.nowMiB.toFixed(1)],
  ]
  for (const [name, value] of lines) console.log(name.padEnd(28) + value.padStart(12))
}
