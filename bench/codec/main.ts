/**
 * `npm run bench:codec`: our protobuf codec beside JSON.parse/stringify of the same objects and beside protobufjs with
 * the same messages, and walker edits beside decoding and encoding. One run, one table; only the ratios mean anything.
 */
import { Bench } from 'tinybench'
import { printJson } from '../../src/kube/codec/json.ts'
import { decodeProtobuf, encodeProtobuf } from '../../src/kube/codec/object-codec.ts'
import { readEnvelope } from '../../src/kube/envelope.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { findKind } from '../../src/kube/schema/schema.ts'
import { jsonWalker } from '../../src/kube/walker/json-walker.ts'
import { protobufWalker } from '../../src/kube/walker/protobuf-walker.ts'
import { protobufjsType } from './protobufjs-twin.ts'
import { sampleEndpointSlice, sampleList, samplePod, sampleService } from './samples.ts'

const millisecondsEach = Number(process.env['BENCH_MS'] ?? 1_000)
const listLength = 500

interface Row {
  readonly name: string
  readonly objects: number
  readonly jsonBytes: number
  readonly protobufBytes: number
  readonly microseconds: Readonly<Record<string, number>>
}

function many(make: (index: number) => KubeObject): KubeObject {
  return sampleList(Array.from({ length: listLength }, (_, index) => make(index)))
}

const subjects: [string, number, KubeObject][] = [
  ['pod', 1, samplePod(7)],
  ['service', 1, sampleService(7)],
  ['endpointslice', 1, sampleEndpointSlice(7)],
  [`${listLength} pods`, listLength, many(samplePod)],
  [`${listLength} services`, listLength, many(sampleService)],
  [`${listLength} endpointslices`, listLength, many(sampleEndpointSlice)],
]

async function measure(name: string, objects: number, source: KubeObject): Promise<Row> {
  const { bytes } = encodeProtobuf(source)
  const { object } = decodeProtobuf(bytes)
  const text = Buffer.from(printJson(object))
  const { rawStart, rawEnd, apiVersion, kind } = readEnvelope(bytes)
  const raw = bytes.subarray(rawStart, rawEnd)
  const message = findKind(apiVersion, kind)?.message
  if (message === undefined) throw new Error(`no message for ${kind}`)
  const twin = protobufjsType(message)
  const twinObject = twin.decode(raw)
  const bench = new Bench({ time: millisecondsEach, warmupTime: millisecondsEach / 4 })
  bench
    .add('JSON.parse', () => JSON.parse(text.toString('utf8')))
    .add('decode', () => decodeProtobuf(bytes))
    .add('protobufjs decode', () => twin.toObject(twin.decode(raw), { longs: Number, bytes: String }))
    .add('JSON.stringify', () => Buffer.from(JSON.stringify(object)))
    .add('print', () => Buffer.from(printJson(object)))
    .add('encode', () => encodeProtobuf(object))
    .add('protobufjs encode', () => twin.encode(twinObject).finish())
  await bench.run()
  const microseconds = Object.fromEntries(bench.tasks.map((task) => [task.name, medianMicroseconds(task.result)]))
  return { name, objects, jsonBytes: text.length, protobufBytes: bytes.length, microseconds }
}

/** What a filter does to a list: look at every item's identity, change one field of one item, copy the rest. */
async function measureWalker(name: string, objects: number, source: KubeObject): Promise<Row> {
  const { bytes } = encodeProtobuf(source)
  const text = Buffer.from(printJson(decodeProtobuf(bytes).object))
  const edit = { path: ['metadata', 'labels', 'app'], replace: () => 'changed' }
  const wanted = protobufWalker.items(bytes)[objects >> 1]?.identity.name
  const bench = new Bench({ time: millisecondsEach, warmupTime: millisecondsEach / 4 })
  bench
    .add('JSON.parse + stringify', () => Buffer.from(JSON.stringify(JSON.parse(text.toString('utf8')))))
    .add('walker on JSON', () =>
      jsonWalker.mapItems(text, (item) => (item.identity.name === wanted ? item.edit([edit]) : undefined)),
    )
    .add('decode + encode', () => encodeProtobuf(decodeProtobuf(bytes).object))
    .add('walker on protobuf', () =>
      protobufWalker.mapItems(bytes, (item) => (item.identity.name === wanted ? item.edit([edit]) : undefined)),
    )
  await bench.run()
  const microseconds = Object.fromEntries(bench.tasks.map((task) => [task.name, medianMicroseconds(task.result)]))
  return { name: `one edit in ${name}`, objects, jsonBytes: text.length, protobufBytes: bytes.length, microseconds }
}

function medianMicroseconds(result: Bench['tasks'][number]['result']): number {
  if (!('latency' in result)) throw new Error('a measurement did not finish')
  return result.latency.p50 * 1000
}

function print(row: Row): void {
  console.log(`\n${row.name}: ${row.jsonBytes} bytes of JSON, ${row.protobufBytes} of protobuf`)
  for (const [name, microseconds] of Object.entries(row.microseconds)) {
    const megabytes = (row.jsonBytes / microseconds).toFixed(0)
    const objects = Math.round((row.objects * 1e6) / microseconds)
    const base = baseOf(name)
    const ratio = (microseconds / (row.microseconds[base] ?? Number.NaN)).toFixed(2)
    const columns = [name.padEnd(24), `${microseconds.toFixed(1)} us`.padStart(14), `${megabytes} MB/s`.padStart(10)]
    console.log(`  ${columns.join('')}${`${objects} objects/s`.padStart(20)}   ${ratio}x the time of ${base}`)
  }
}

/** What a row is compared with. */
function baseOf(name: string): string {
  if (name === 'walker on protobuf' || name === 'decode + encode') return 'decode + encode'
  if (name === 'walker on JSON' || name.endsWith('+ stringify')) return 'JSON.parse + stringify'
  return /parse|decode/.test(name) ? 'JSON.parse' : 'JSON.stringify'
}

console.log(`Node ${process.version}; medians; MB/s counts the bytes of the JSON form in every row`)
for (const [name, objects, source] of subjects) print(await measure(name, objects, source))
for (const [name, objects, source] of subjects.filter(([, objects]) => objects > 1)) {
  print(await measureWalker(name, objects, source))
}
