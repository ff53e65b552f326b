/** What is measured, the same for every API server. */
import { Load, percentile, perSecond, type Target } from './load.ts'

const configMapBytes = 900
const listLength = 2_000
const podCount = 5_000
const watchers = 100
const watchedWrites = 300
/** Not counted: the first one opens the writer's connection, and compilers warm up. */
const warmUpWrites = 30

export interface Results {
  readonly [measurement: string]: number
}

function configMap(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { text: 'x'.repeat(configMapBytes) },
  })
}

function pod(name: string): string {
  const container = {
    name: 'c',
    image: 'registry.example/app:1',
    resources: { requests: { cpu: '100m', memory: '64Mi' } },
  }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'bench' } },
    spec: { containers: [container] },
  })
}

export async function measure(target: Target, milliseconds: number): Promise<Results> {
  const load = new Load(target, 64)
  const single = new Load(target, 1)
  try {
    await load.call(
      'POST',
      '/api/v1/namespaces',
      JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bench' } }),
    )
    const configMaps = '/api/v1/namespaces/bench/configmaps'
    const create = (index: number): Promise<unknown> => load.call('POST', configMaps, configMap(`c-${index}`))
    const creates = await perSecond(16, milliseconds, create)
    await load.call('DELETE', configMaps)
    await inParallel(16, listLength, (index) => load.call('POST', configMaps, configMap(`l-${index}`)))
    const gets1 = await perSecond(1, milliseconds, (index) =>
      single.call('GET', `${configMaps}/l-${index % listLength}`),
    )
    const gets32 = await perSecond(32, milliseconds, (index) =>
      load.call('GET', `${configMaps}/l-${index % listLength}`),
    )
    const lists = await perSecond(4, milliseconds, () => load.call('GET', `${configMaps}?resourceVersion=0`))
    const fanOut = await measureFanOut(target)
    await inParallel(16, podCount, (index) => load.call('POST', '/api/v1/namespaces/bench/pods', pod(`p-${index}`)))
    const podLists = await perSecond(1, milliseconds, () =>
      load.call('GET', '/api/v1/namespaces/bench/pods?resourceVersion=0'),
    )
    return {
      'creates/s, 16 clients': creates,
      'gets/s, 1 client': gets1,
      'gets/s, 32 clients': gets32,
      [`lists/s of ${listLength} ConfigMaps`]: lists,
      [`lists/s of ${podCount} Pods`]: podLists,
      [`fan-out to ${watchers} watchers, p50 ms`]: fanOut.p50,
      [`fan-out to ${watchers} watchers, p99 ms`]: fanOut.p99,
    }
  } finally {
    load.close()
    single.close()
  }
}

/** From the moment a write is sent to the moment the last watcher has heard of it. */
async function measureFanOut(target: Target): Promise<{ p50: number; p99: number }> {
  const load = new Load(target, watchers + 1)
  let heard = 0
  let allHeard: () => void = () => {}
  const path = '/api/v1/namespaces/bench/secrets?watch=true&timeoutSeconds=120'
  const hear = (): void => {
    if (++heard === watchers) allHeard()
  }
  const streams = await Promise.all(Array.from({ length: watchers }, () => load.watch(path, hear)))
  const latencies: number[] = []
  for (let index = 0; index < warmUpWrites + watchedWrites; index++) {
    heard = 0
    const done = new Promise<void>((resolve) => {
      allHeard = resolve
    })
    const startMs = performance.now()
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: `w-${index}` } }
    await Promise.all([load.call('POST', '/api/v1/namespaces/bench/secrets', JSON.stringify(secret)), done])
    if (index >= warmUpWrites) latencies.push(performance.now() - startMs)
  }
  for (const stream of streams) stream.destroy()
  load.close()
  return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) }
}

async function inParallel(clients: number, count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const client = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: clients }, client))
}
