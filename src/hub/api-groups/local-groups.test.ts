import { once } from 'node:events'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../test/worlds/object-server.ts'
import { startOwnApiServer } from '../../../test/worlds/own-api-server.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { CallOptions, WatchQuery } from '../../kube/client/options.ts'
import type { KubeList, WatchEvent } from '../../kube/objects.ts'
import type { ReflectorSource, WatchSource } from '../../kube/reflector/reflector.ts'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { accessDenied } from '../../kube/status/access-denied.ts'
import { notFound } from '../../kube/status/resource-errors.ts'
import type { ApiError } from '../../kube/status/status.ts'
import { MAX_GROUP_VERSION_CHARACTERS, MAX_TOLD_GROUP_VERSIONS } from '../../protocol/requests.ts'
import { type Clock, ManualClock, systemClock } from '../../runtime/clock.ts'
import { API_SERVICES, type ApiService, LocalGroups } from './local-groups.ts'

const never = new AbortController().signal

function apiService(group: string, version: string, service?: object | null): ApiService {
  const metadata = { name: `${version}.${group}`, resourceVersion: '5' }
  return { metadata, spec: service === undefined ? { group, version } : { group, version, service } }
}

/** APIServices that a test puts, takes away and forbids. */
class FakeApiServices implements ReflectorSource<ApiService> {
  failure: ApiError | undefined
  #revision = 10
  readonly #objects = new Map<string, ApiService>()
  #tell = (_event: WatchEvent<ApiService>): void => {}
  #end = (): void => {}

  constructor(...objects: readonly ApiService[]) {
    for (const object of objects) this.put(object)
  }

  put({ metadata, spec = {} }: ApiService): void {
    this.#revision += 1
    const object = { metadata: { ...metadata, resourceVersion: String(this.#revision) }, spec }
    const isKnown = this.#objects.has(metadata?.name ?? '')
    this.#objects.set(metadata?.name ?? '', object)
    this.#tell({ type: isKnown ? 'MODIFIED' : 'ADDED', object })
  }

  endWatch(): void {
    this.#end()
  }

  list(): Promise<KubeList<ApiService>> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    return Promise.resolve({
      metadata: { resourceVersion: String(this.#revision) },
      items: [...this.#objects.values()],
    })
  }

  watch(query: WatchQuery, { signal }: CallOptions): Promise<WatchSource<ApiService>> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    const annotations = { 'k8s.io/initial-events-end': 'true' }
    const end = { metadata: { resourceVersion: String(this.#revision), annotations } }
    const events: WatchEvent<ApiService>[] = []
    if (query.sendInitialEvents === true)
      events.push(...[...this.#objects.values()].map((object) => ({ type: 'ADDED' as const, object })), {
        type: 'BOOKMARK',
        object: end,
      })
    const closed = new AbortController()
    const more = new EventTarget()
    this.#tell = (event) => {
      events.push(event)
      more.dispatchEvent(new Event('more'))
    }
    this.#end = () => closed.abort()
    signal?.addEventListener('abort', this.#end)
    closed.signal.addEventListener('abort', () => more.dispatchEvent(new Event('more')))
    return Promise.resolve({
      close: () => closed.abort(),
      async *[Symbol.asyncIterator]() {
        while (!closed.signal.aborted) {
          const event = events.shift()
          if (event !== undefined) yield event
          else await once(more, 'more')
        }
      },
    })
  }
}

interface Followed {
  readonly groups: LocalGroups
  readonly log: string[]
  readonly stop: () => Promise<void>
}

async function follow(source: ReflectorSource<ApiService>, clock: Clock = new ManualClock()): Promise<Followed> {
  const log: string[] = []
  const logger = pino({}, { write: (line: string) => void log.push((JSON.parse(line) as { msg: string }).msg) })
  const groups = new LocalGroups({ source, clock, logger })
  const running = await groups.start()
  return { groups, log, stop: () => running.stop(never) }
}

function codeOf(groups: LocalGroups): string | undefined {
  try {
    groups.groupVersions()
    return undefined
  } catch (error) {
    return (error as { code: string }).code
  }
}

const info = parseRequestInfo({ method: 'GET', path: '/apis/apiregistration.k8s.io/v1/apiservices', query: '' })
const forbidden = accessDenied('hub', info)

describe('the group versions of an API server', () => {
  it('are those that no other server answers for', async () => {
    const source = new FakeApiServices(
      apiService('', 'v1'),
      apiService('apps', 'v1', null),
      apiService('example.com', 'v1alpha1'),
      apiService('metrics.k8s.io', 'v1beta1', { name: 'metrics-server', namespace: 'kube-system' }),
      { metadata: { name: 'broken', resourceVersion: '6' } },
      apiService(`${'a'.repeat(MAX_GROUP_VERSION_CHARACTERS)}.com`, 'v1'),
    )
    const { groups, stop } = await follow(source)
    expect(codeOf(groups)).toBe('cluster-unavailable')
    await eventually(() => codeOf(groups) === undefined)
    expect(groups.groupVersions()).toEqual(['apps/v1', 'example.com/v1alpha1', 'v1'])
    expect(groups.groupVersions()).toBe(groups.groupVersions())

    source.put(apiService('example.com', 'v1alpha1', { name: 'elsewhere', namespace: 'default' }))
    source.put(apiService('cilium.io', 'v2'))
    await eventually(() => groups.groupVersions().includes('cilium.io/v2'))
    expect(groups.groupVersions()).toEqual(['apps/v1', 'cilium.io/v2', 'v1'])
    await stop()
  })

  it('are told up to a limit, which is said once', async () => {
    const many = Array.from({ length: MAX_TOLD_GROUP_VERSIONS + 1 }, (_, index) => apiService(`g${index}.com`, 'v1'))
    const { groups, log, stop } = await follow(new FakeApiServices(...many))
    await eventually(() => codeOf(groups) === undefined)
    expect([groups.groupVersions().length, groups.groupVersions().length]).toEqual(
      Array(2).fill(MAX_TOLD_GROUP_VERSIONS),
    )
    expect(log).toEqual([expect.stringContaining('more group versions than edges are told of')])
    await stop()
  })

  it('are not known to a hub without the right, which says so once, and are when it has it', async () => {
    const clock = new ManualClock()
    const source = new FakeApiServices(apiService('example.com', 'v1'))
    source.failure = forbidden
    const { groups, log, stop } = await follow(source, clock)
    await eventually(() => codeOf(groups) === 'hub-lacks-rights')
    for (let again = 0; again < 5; again++) await clock.advance(30_000)
    expect(() => groups.groupVersions()).toThrow(/may not know.*kubectl apply -f deploy\/hub-rbac.yaml/)
    expect(log).toEqual([expect.stringContaining('not allowed to follow APIServices')])

    source.failure = undefined
    await clock.advance(30_000)
    await eventually(() => codeOf(groups) === undefined)
    expect(groups.groupVersions()).toEqual(['example.com/v1'])

    // Taken away again, what is known may be wrong before long.
    source.failure = forbidden
    source.endWatch()
    const codeAfter = async (ms: number): Promise<string | undefined> => {
      await clock.advance(ms)
      return codeOf(groups)
    }
    await expect.poll(() => codeAfter(1_000)).toBe('hub-lacks-rights')
    expect(log).toHaveLength(2)
    await stop()
  })
})

describe('an API server', () => {
  it('without APIServices has nothing told of it', async () => {
    const source = new FakeApiServices()
    source.failure = notFound({ group: API_SERVICES.group, resource: API_SERVICES.resource }, '')
    const { groups, log, stop } = await follow(source)
    await eventually(() => codeOf(groups) === undefined)
    expect(groups.groupVersions()).toEqual([])
    expect(log).toEqual([expect.stringContaining('has no APIServices')])
    await stop()
  })

  it('of our own has what it serves told of it, by those who may know', async () => {
    const server = await startOwnApiServer()
    const of = (client: KubeClient) => follow(client.resource(API_SERVICES), systemClock)
    const [admin, nobody] = await Promise.all([of(server.client()), of(server.clientOf('nobody'))])
    await expect.poll(() => codeOf(admin.groups)).toBeUndefined()
    expect(admin.groups.groupVersions()).toEqual(expect.arrayContaining(['apps/v1', 'v1']))
    await expect.poll(() => codeOf(nobody.groups)).toBe('hub-lacks-rights')
    await Promise.all([admin.stop(), nobody.stop()])
    await server.stop()
  })
})
