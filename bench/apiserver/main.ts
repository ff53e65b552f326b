/**
 * `npm run bench:apiserver`: our API server on LMDB and on etcd beside a real kube-apiserver with etcd, one after the other
 * on the same machine, with the same driver. Acknowledged means flushed to disk on all sides. Names after `--` choose
 * what runs (`lmdb`, `etcd`, `kubernetes`); `BENCH_MS` says how long each measurement lasts.
 */
import { missingPeers } from '../../test/real/control-plane.ts'
import { measure, type Results } from './measure.ts'
import { type Server, startKubernetes, startOnEtcd, startOnLmdb } from './servers.ts'

const milliseconds = Number(process.env['BENCH_MS'] ?? 5_000)
const nameWidth = 34
const columnWidth = 12

const starters: Readonly<Record<string, () => Promise<Server>>> = {
  lmdb: startOnLmdb,
  etcd: startOnEtcd,
  kubernetes: startKubernetes,
}

async function runAll(start: () => Promise<Server>): Promise<Results> {
  const server = await start()
  try {
    const atStart = server.memory()
    const results = await measure(server.target, milliseconds)
    return { 'ready after ms': server.readyMs, ...results, 'MiB at start': atStart, 'MiB at end': server.memory() }
  } finally {
    await server.stop()
  }
}

/** How ours compares with the real one: for rates more is better, for milliseconds and MiB less. */
function printTable(columns: ReadonlyMap<string, Results>): void {
  const real = columns.get('kubernetes')
  const ours = [...columns.keys()].filter((name) => name !== 'kubernetes')
  const ratios = real === undefined ? [] : ours.map((name) => `${name} ratio`)
  const print = (name: string, cells: readonly string[]): void =>
    console.log(name.padEnd(nameWidth) + cells.map((cell) => cell.padStart(columnWidth)).join(''))
  print('', [...columns.keys(), ...ratios])
  for (const measurement of Object.keys([...columns.values()][0] ?? {})) {
    const measured = (name: string): number => columns.get(name)?.[measurement] ?? Number.NaN
    const values = [...columns.keys()].map((name) => measured(name).toFixed(1))
    const compared = ratios.map((_, index) => (measured(ours[index] ?? '') / measured('kubernetes')).toFixed(2))
    print(measurement, [...values, ...compared])
  }
}

const missing = missingPeers(['etcd', 'kube-apiserver'])
if (missing.length > 0) console.log(`no ${missing.join(', ')} here: ours on LMDB alone`)
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(starters)
const columns = new Map<string, Results>()
for (const [name, start] of Object.entries(starters)) {
  if (wanted.includes(name) && (name === 'lmdb' || missing.length === 0)) columns.set(name, await runAll(start))
}
printTable(columns)
