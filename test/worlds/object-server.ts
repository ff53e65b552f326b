/** The middle of an API server for tests: a store in memory, the cache that follows it, and a writer with real strategies. */

import { InternalClient } from '../../src/apiserver/controllers/internal-client.ts'
import { Admission, type AdmissionPlugin } from '../../src/apiserver/core/admission.ts'
import { ObjectCache } from '../../src/apiserver/core/object-cache.ts'
import type { Allocator } from '../../src/apiserver/core/write/allocator.ts'
import { createObject } from '../../src/apiserver/core/write/create.ts'
import { type DeleteOptions, deleteObject } from '../../src/apiserver/core/write/delete.ts'
import { updateObject } from '../../src/apiserver/core/write/update.ts'
import type { WriteRequest } from '../../src/apiserver/core/write/write-request.ts'
import { Writer } from '../../src/apiserver/core/write/writer.ts'
import { strategyOf } from '../../src/apiserver/kinds/registry.ts'
import type { Resource } from '../../src/apiserver/objects/resource.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import type { Store } from '../../src/apiserver/storage/store.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { ManualClock, systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { inlineMaker } from './inline-maker.ts'

/** How long a test waits for something. Signing runs on threads: how many turns of the event loop it takes says nothing. */
const eventuallyMs = 30_000

interface CreateOptions {
  readonly dryRun?: boolean
  readonly userName?: string
}

export interface ObjectServer {
  readonly clock: ManualClock
  readonly cache: ObjectCache
  readonly writer: Writer
  readonly client: InternalClient
  readonly logger: ReturnType<typeof createLogger>
  create(resource: Resource, object: KubeObject, options?: CreateOptions): Promise<KubeObject>
  update(
    resource: Resource,
    namespace: string,
    name: string,
    change: (old: KubeObject) => KubeObject,
  ): Promise<KubeObject>
  delete(resource: Resource, namespace: string, name: string, options?: DeleteOptions): Promise<void>
  get(resource: Resource, namespace: string, name: string): KubeObject | undefined
  stop(): Promise<void>
}

type Plugins = (cache: ObjectCache, clock: ManualClock) => AdmissionPlugin[]

interface ObjectServerOptions {
  /** A store and its clock, when several servers share them. */
  readonly shared?: { readonly store: Store; readonly clock: ManualClock } | undefined
  readonly allocators?: (cache: ObjectCache, clock: ManualClock) => Allocator[]
}

export async function startObjectServer(
  plugins: Plugins = () => [],
  { shared, allocators = () => [] }: ObjectServerOptions = {},
): Promise<ObjectServer> {
  const clock = shared?.clock ?? new ManualClock()
  const logger = createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock })
  const store = shared?.store ?? new MemoryStore(clock)
  const cache = new ObjectCache(store, logger)
  await cache.load()
  const stopped = new AbortController()
  const running = cache.run(stopped.signal, () => Promise.resolve())
  const writer = new Writer({
    store,
    cache,
    clock,
    admission: new Admission(plugins(cache, clock)),
    allocators: allocators(cache, clock),
    maker: inlineMaker,
    strategyOf: ({ apiVersion, kind }: Resource) => strategyOf(apiVersion, kind),
  })
  const client = new InternalClient(writer, cache)
  return {
    clock,
    cache,
    writer,
    client,
    logger,
    async create(resource, object, options) {
      const request = requestFor(resource, object.metadata?.namespace ?? '', object.metadata?.name ?? '', options)
      return (await createObject(writer, structuredClone(object), request)).object()
    },
    async update(resource, namespace, name, change) {
      return (
        await updateObject(writer, requestFor(resource, namespace, name), (item) => change(item.object()))
      ).item.object()
    },
    async delete(resource, namespace, name, options = {}) {
      await deleteObject(writer, requestFor(resource, namespace, name), options)
    },
    get: (resource, namespace, name) => client.get({ resource, namespace, name }),
    async stop() {
      stopped.abort()
      if (shared === undefined) await store.close()
      await running
    },
  }
}

function requestFor(resource: Resource, namespace: string, name: string, options: CreateOptions = {}): WriteRequest {
  const { dryRun = false, userName = 'somebody' } = options
  const user = { name: userName, uid: '', groups: ['system:authenticated'], extra: {} }
  const signal = new AbortController().signal
  const own = { warnings: new Set<string>(), bodyBytes: 0, hasDefaults: false }
  return { resource, subresource: '', namespace, name, user, dryRun, signal, ...own }
}

/** Resolves when the condition holds, however many promises that takes; the clock of the server stands still. */
export async function eventually(condition: () => boolean): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + eventuallyMs
  while (!condition()) {
    if (systemClock.monotonicMs() > deadlineMs) throw new Error('the condition did not come true')
    await turnOver()
  }
}

/** Lets everything that is under way come to rest, for what must not happen. */
export async function rest(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await turnOver()
}

function turnOver(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
