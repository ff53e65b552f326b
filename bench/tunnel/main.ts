/**
 * `npm run bench:tunnel`: our hub and edge beside the stock konnectivity server and agent and a bare TLS relay, in one run and in
 * turns. README.md says what the rows mean.
 *
 *   --quick             short rounds, for trying the bench itself
 *   --ms 2000           length of one measurement
 *   --rounds 3          of which the median counts
 *   --rtt 0,20,100      lengths of the line, in milliseconds there and back
 *   --streams 1000,10000  open at once for the memory rows
 *   --only bulk,...     some of bulk, latency, opens, stall, manners, memory, idle
 *   --idle-edges 2000   simulated edges on one hub
 *   --profile DIR       leaves CPU profiles of our hub and edge there
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { peersDirectory } from '../../test/real/control-plane.ts'
import { serveBare } from './bare.ts'
import { makeCertificates } from './certificates.ts'
import { type Contestant, type Ours, startBare, startKonnectivity, startOurs, type Via } from './contestants.ts'
import { type DelayApi, serveDelay } from './delay-relay.ts'
import { type DriverApi, serveDriver } from './driver.ts'
import { measureIdle } from './idle-sessions.ts'
import { type OriginApi, serveOrigin } from './origin.ts'
import { startRole } from './processes.ts'
import { serveEdges } from './simulated-edges.ts'
import {
  type Bench,
  measureBulk,
  measureLatency,
  measureManners,
  measureMemory,
  measureOpens,
  measureStall,
  reachAll,
} from './suite.ts'
import { Table } from './table.ts'

const { values } = parseArgs({
  options: {
    role: { type: 'string' },
    quick: { type: 'boolean', default: false },
    ms: { type: 'string' },
    rounds: { type: 'string' },
    rtt: { type: 'string', default: '0,20,100' },
    streams: { type: 'string' },
    only: { type: 'string', default: 'bulk,latency,opens,stall,manners,memory,idle' },
    'idle-edges': { type: 'string' },
    profile: { type: 'string' },
  },
})

const roles: Readonly<Record<string, () => void>> = {
  origin: serveOrigin,
  driver: serveDriver,
  delay: serveDelay,
  bare: serveBare,
  edges: serveEdges,
}
const { quick } = values
const wanted = new Set(values.only.split(','))
const numbers = (list: string): number[] => list.split(',').map(Number)
const table = new Table()

if (values.role === undefined) await run()
else roles[values.role]?.()

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-tunnel-'))
  let names: string[] = []
  try {
    if ([...wanted].some((name) => name !== 'idle')) names = await compare(folder)
    if (wanted.has('idle')) await idle(join(folder, 'idle'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const ratios = [
    ['causeway', 'konnectivity'],
    ['causeway', 'bare'],
    ['target', 'bare'],
  ] as const
  if (names.length > 0) table.print(names, ratios)
  process.exit(0)
}

async function compare(folder: string): Promise<string[]> {
  const driver = startRole<DriverApi>('driver').calls
  const origin = startRole<OriginApi>('origin').calls
  const delay = startRole<DelayApi>('delay').calls
  const ports = await origin.listen()
  const certificates = await makeCertificates()
  const world = { folder, originPort: ports.port, certificates, profileDir: values.profile }
  const ours = await startOurs(world)
  const contestants: Contestant[] = [ours.front, ours.target]
  if (existsSync(join(peersDirectory(), 'konnectivity-server'))) contestants.push(await startKonnectivity(world))
  else table.note(`no konnectivity in ${peersDirectory()}: without it`)
  contestants.push(await startBare(world))
  const settings = {
    ms: Number(values.ms ?? (quick ? 400 : 2_000)),
    rounds: Number(values.rounds ?? (quick ? 1 : 3)),
    streamCounts: [0, ...numbers(values.streams ?? (quick ? '500' : '1000,10000'))],
  }
  try {
    await measureAll({ contestants, driver, origin, ports, table, settings }, ours, (rttMs) => lineOf(delay, rttMs))
  } finally {
    for (const contestant of contestants) await contestant.stop()
  }
  return contestants.map(({ name }) => name)
}

/** No line at all where it has no length: the processor time of the relay would blur what is compared. */
function lineOf(delay: { line: (options: Parameters<DelayApi['line']>[0]) => Promise<number> }, rttMs: number): Via {
  return async (toPort) => (rttMs === 0 ? toPort : await delay.line({ toPort, oneWayMs: rttMs / 2 }))
}

async function measureAll(bench: Bench, ours: Ours, via: (rttMs: number) => Via): Promise<void> {
  const step = async (name: string, work: () => Promise<void>): Promise<void> => {
    if (!wanted.has(name)) return
    console.log(`${new Date().toISOString().slice(11, 19)} ${name}`)
    await work()
  }
  await reachAll(bench, via(0))
  await step('memory', () =>
    measureMemory(bench, (c) => (c === ours.front ? ours.doors(bench.ports.port) : [c.door(bench.ports.port)])),
  )
  for (const rttMs of numbers(values.rtt)) {
    await reachAll(bench, via(rttMs))
    await step('bulk', () => measureBulk(bench, rttMs))
    if (rttMs === 0) await step('latency', () => measureLatency(bench))
    await step('opens', () => measureOpens(bench, rttMs))
  }
  await reachAll(bench, via(0))
  await step('manners', () => measureManners(bench, quick ? 100 : 1_000))
  await step('stall', async () => {
    for (const side of ['client', 'origin'] as const) {
      await reachAll(bench, via(0))
      await measureStall(bench, side)
    }
  })
}

async function idle(folder: string): Promise<void> {
  const edges = Number(values['idle-edges'] ?? (quick ? 200 : 2_000))
  console.log(`${new Date().toISOString().slice(11, 19)} idle`)
  const { sessions, emptyMiB, joinedMiB, connectedMiB, laterMiB, cpuPercent } = await measureIdle(folder, edges, quick)
  const kib = ((laterMiB - joinedMiB) * 1024) / sessions
  table.note(`idle: ${sessions} of ${edges} sessions live`)
  table.note(
    `idle: hub ${emptyMiB.toFixed(0)} MiB empty, ${joinedMiB.toFixed(0)} once all have joined, ` +
      `${connectedMiB.toFixed(0)} connected, ${laterMiB.toFixed(0)} a little later`,
  )
  table.note(`idle: ${kib.toFixed(1)} KiB a session, ${Math.floor((1024 * 1024) / kib)} sessions a GiB`)
  table.note(`idle: ${cpuPercent.toFixed(1)} % of a core for the pings of all`)
}
