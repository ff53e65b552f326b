/**
 * `npm run bench:keeping`: what a start costs with 2,000 and 20,000 objects of 3 KB on disk, the longest turn of the event loop
 * meanwhile (Linux only), and how many changes a second reach the disk. The last column of loading is the same by a child process that
 * opens the file with LMDB and writes it anew: what a check by a process of its own would cost.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Registry } from 'prom-client'
import { DiskKeeping } from '../../src/edge/keeping/disk-keeping.ts'
import { createKeepingMetrics } from '../../src/edge/keeping/keeping-metrics.ts'
import type { FeedState, KeptEntry } from '../../src/edge/keeping/kept.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'

const OBJECT_BYTES = 3_000
const FEEDS = 10
const CHANGES = 10_000
const LMDB_CHILD = `
  const { open } = await import(${JSON.stringify(import.meta.resolve('lmdb'))})
  const options = { encoding: 'binary', keyEncoding: 'binary', overlappingSync: false, eventTurnBatching: false }
  const from = open({ ...options, path: process.argv[1], readOnly: true })
  const to = open({ ...options, path: process.argv[1] + '.child.mdb', mapSize: 512 << 20 })
  await to.batch(() => {
    for (const { key, value } of from.getRange({ start: Buffer.from([0]) })) void to.put(key, Buffer.from(value))
  })
  await to.close()
`

type Feeds = Map<string, Map<string, KeptEntry>>

function makeFeeds(objects: number): Feeds {
  const feeds: Feeds = new Map()
  for (let index = 0; index < objects; index++) {
    const feed = feeds.get(`feed-${index % FEEDS}`) ?? new Map<string, KeptEntry>()
    const key = `default/object-${String(index).padStart(6, '0')}`
    feeds.set(`feed-${index % FEEDS}`, feed.set(key, { key, form: 'json', bytes: randomBytes(OBJECT_BYTES) }))
  }
  return feeds
}

function openKeeping(dataDir: string, feeds: Feeds, secret: boolean): DiskKeeping {
  const logger = createLogger({ level: 'warn', format: 'json', clock: systemClock, destination: process.stderr })
  const presentFeed = (key: string): FeedState | undefined => {
    const entries = feeds.get(key)
    return entries && { head: { version: '1' }, entries: entries.values(), secret }
  }
  const keeping: DiskKeeping = new DiskKeeping({
    dataDir,
    clock: systemClock,
    logger,
    metrics: createKeepingMetrics(new Registry(), () => keeping.status),
    presentFeed,
  })
  return keeping
}

interface Cost {
  readonly totalMs: number
  readonly cpuMs: number
  readonly turnMs: number
}

const threadStats = openSync('/proc/thread-self/schedstat', 'r')
const statBytes = Buffer.alloc(128)
const NANOSECONDS_PER_MS = 1e6

/** Processor time of this thread: a busy machine makes no turn longer. */
function threadMs(): number {
  const length = readSync(threadStats, statBytes, 0, statBytes.length, 0)
  return Number.parseInt(statBytes.toString('latin1', 0, length), 10) / NANOSECONDS_PER_MS
}

/** Runs `work` and returns how long it took, and the longest turn of the event loop in processor time. */
async function timed(work: () => Promise<void>): Promise<Cost> {
  let turnMs = 0
  let last = threadMs()
  let isDone = false
  const tick = (): void => {
    const now = threadMs()
    turnMs = Math.max(turnMs, now - last)
    last = now
    if (!isDone) setImmediate(tick)
  }
  setImmediate(tick)
  const started = performance.now()
  const cpu = process.cpuUsage()
  await work()
  isDone = true
  tick()
  const { user, system } = process.cpuUsage(cpu)
  return { totalMs: performance.now() - started, cpuMs: (user + system) / 1000, turnMs }
}

const show = ({ totalMs, turnMs, cpuMs }: Cost): string =>
  `${totalMs.toFixed(0)} ms (cpu ${cpuMs.toFixed(0)} ms, longest turn ${turnMs.toFixed(0)} ms)`

async function measure(objects: number, secret: boolean): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'causeway-keeping-'))
  try {
    const feeds = makeFeeds(objects)
    const first = openKeeping(dataDir, feeds, secret)
    for await (const _ of first.load()) throw new Error('not empty')
    const written = await timed(async () => {
      for (const [key, entries] of feeds) first.replaceFeed(key, { version: '1' }, entries.values(), { secret })
      await first.flushed()
    })
    const changed = await timed(async () => await change(first, feeds, secret))
    const { bytes } = first.status
    await first.close()
    const second = openKeeping(dataDir, feeds, secret)
    let entries = 0
    const loaded = await timed(async () => {
      for await (const feed of second.load()) entries += feed.isComplete ? feed.entries.length : 0
    })
    if (entries !== objects) throw new Error(`${entries} of ${objects} came back`)
    await second.close()
    const file = join(dataDir, 'replica', 'data.mdb')
    const child = await timed(async () => {
      execFileSync(process.execPath, ['--input-type=module', '-e', LMDB_CHILD, file])
    })
    process.stdout.write(
      `${objects} objects${secret ? ', secret' : ''}: file ${(bytes / 1024 / 1024).toFixed(0)} MiB\n` +
        `  write all   ${show(written)}\n  ${CHANGES} changes ${show(changed)}\n  load        ${show(loaded)}\n` +
        `  child       ${child.totalMs.toFixed(0)} ms\n`,
    )
  } finally {
    rmSync(dataDir, { recursive: true })
  }
}

/** One call for each change, as a watch makes them, a thousand at a time. */
async function change(keeping: DiskKeeping, feeds: Feeds, secret: boolean): Promise<void> {
  const all = [...feeds].flatMap(([feed, entries]) => [...entries.values()].map((entry) => ({ feed, entry })))
  for (let index = 0; index < CHANGES; index++) {
    const { feed, entry } = all[(index * 7919) % all.length] as (typeof all)[number]
    keeping.changeFeed(feed, { version: String(index) }, [entry], [], { secret })
    if (index % 1000 === 999) await keeping.flushed()
  }
}

for (const objects of [2_000, 20_000]) await measure(objects, false)
await measure(2_000, true)
