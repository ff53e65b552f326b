/** What a session that carries nothing costs a hub: a hub of its own, and thousands of edges in a few processes. */
import { readJoinToken } from '../../src/identity/join-token.ts'
import { startHub } from './contestants.ts'
import { cpuMs, endProcess, residentMiB, runCommand, startRole } from './processes.ts'
import type { EdgesApi } from './simulated-edges.ts'

const edgesPerProcess = 2_500
/** Several pings of every edge. */
const watchMs = 25_000

export interface IdleReport {
  readonly sessions: number
  readonly emptyMiB: number
  readonly joinedMiB: number
  readonly connectedMiB: number
  readonly laterMiB: number
  /** Of one core, while nothing but pings passes. */
  readonly cpuPercent: number
}

export async function measureIdle(folder: string, edges: number, isQuick: boolean): Promise<IdleReport> {
  const hub = await startHub(folder, [], undefined)
  const { jwt } = readJoinToken(await runCommand(['token', 'create', `--kubeconfig=${hub.kubeconfig}`]))
  const rss = (): number => residentMiB([hub.child])
  const emptyMiB = rss()
  const processes = Array.from({ length: Math.ceil(edges / edgesPerProcess) }, () => startRole<EdgesApi>('edges'))
  try {
    const each = Math.ceil(edges / processes.length)
    await Promise.all(
      processes.map(({ calls }, index) => {
        const first = index * each
        return calls.join({ url: hub.url, jwt, first, count: Math.min(each, edges - first) })
      }),
    )
    const joinedMiB = rss()
    for (const { calls } of processes) await calls.connect({ url: hub.url })
    const connectedMiB = rss()
    const startCpuMs = cpuMs([hub.child])
    const startMs = performance.now()
    await new Promise((resolve) => setTimeout(resolve, isQuick ? watchMs / 5 : watchMs))
    const cpuPercent = ((cpuMs([hub.child]) - startCpuMs) * 100) / (performance.now() - startMs)
    const living = await Promise.all(processes.map(({ calls }) => calls.living()))
    const sessions = living.reduce((sum, count) => sum + count, 0)
    return { sessions, emptyMiB, joinedMiB, connectedMiB, laterMiB: rss(), cpuPercent }
  } finally {
    for (const { child } of processes) await endProcess(child)
    await hub.stop()
  }
}
