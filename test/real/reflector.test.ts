/** The reflector against a real kube-apiserver that is killed, loses its history and comes back. */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { BodyCodec } from '../../src/kube/client/body-codec.ts'
import { KubeClient } from '../../src/kube/client/client.ts'
import type { Dial } from '../../src/kube/client/connector.ts'
import { configMaps, leases, namespaces, pods } from '../../src/kube/client/kinds.ts'
import { loadKubeconfig } from '../../src/kube/client/kubeconfig.ts'
import { protobufCodec } from '../../src/kube/client/protobuf-codec.ts'
import type { ResourceClient } from '../../src/kube/client/resource-client.ts'
import type { ConfigMap } from '../../src/kube/client/types.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { type Notification, Reflector, type ReflectorSource } from '../../src/kube/reflector/reflector.ts'
import { ApiError } from '../../src/kube/status/status.ts'
import { WireError } from '../../src/protobuf/wire-error.ts'
import { BACKOFF_MAX_MS } from '../../src/runtime/backoff.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

const namespace = 'reflector-test'

/** A cable between the reflector and the server that a test can pull out. */
class Cable {
  readonly #sockets = new Set<Socket>()
  #cut = false

  readonly dial: Dial = async ({ host, port }) => {
    if (this.#cut) throw Object.assign(new Error('the cable is cut'), { code: 'ENETUNREACH' })
    const socket = connect(port, host)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    return socket
  }

  cut(): void {
    this.#cut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.#cut = false
  }
}

/** Follows notifications with a view of its own and fails on anything that is not a change. */
class Follower {
  readonly view = new Map<string, KubeObject>()
  readonly told: string[] = []
  readonly failures: unknown[] = []
  readonly #stop = new AbortController()
  readonly #running: Promise<void>

  constructor(reflector: Reflector<ConfigMap>) {
    this.#running = this.#follow(reflector)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  /** Resolves when the view equals what the server says. */
  async meets(maps: ResourceClient<ConfigMap>): Promise<void> {
    const deadlineMs = systemClock.monotonicMs() + 120_000
    for (;;) {
      const { items } = await maps.list()
      const truth = Object.fromEntries(items.map((item) => [item.metadata?.name, item.metadata?.resourceVersion]))
      const seen = Object.fromEntries([...this.view].map(([name, item]) => [name, item.metadata?.resourceVersion]))
      if (JSON.stringify(sorted(truth)) === JSON.stringify(sorted(seen))) return
      if (systemClock.monotonicMs() > deadlineMs) expect(seen).toEqual(truth)
      await systemClock.sleep(50)
    }
  }

  async #follow(reflector: Reflector<ConfigMap>): Promise<void> {
    for await (const notification of reflector.notifications(this.#stop.signal)) this.#take(notification)
  }

  #take(notification: Notification<ConfigMap>): void {
    if (notification.type === 'failed') this.failures.push(notification.error)
    if (notification.type === 'failed' || notification.type === 'synced') return
    const { name = '', uid, resourceVersion } = notification.object.metadata ?? {}
    this.told.push(`${notification.type} ${uid} ${resourceVersion}`)
    expect(this.view.has(name)).toBe(notification.type !== 'added')
    if (notification.type === 'deleted') this.view.delete(name)
    else this.view.set(name, notification.object)
  }
}

function sorted(record: Record<string, unknown>): Array<[string, unknown]> {
  return Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function expectNothingTwice(follower: Follower): void {
  expect(new Set(follower.told).size).toBe(follower.told.length)
}

describeReal('reflector', () => {
  let plane: ControlPlane
  let client: KubeClient
  let maps: ResourceClient<ConfigMap>

  beforeAll(async () => {
    plane = await startControlPlane()
    client = new KubeClient(await loadKubeconfig({ file: plane.kubeconfigFile }))
    await client.resource(namespaces).create({ metadata: { name: namespace } })
    maps = client.resource(configMaps).in(namespace)
  })

  afterAll(async () => {
    await client?.close()
    await plane?.stop()
  })

  async function follow(
    source?: ReflectorSource<ConfigMap>,
  ): Promise<{ follower: Follower; cable: Cable; end: () => Promise<void> }> {
    const cable = new Cable()
    const own = new KubeClient(await loadKubeconfig({ file: plane.kubeconfigFile }), { dial: cable.dial })
    const follower = new Follower(new Reflector(source ?? own.resource(configMaps).in(namespace)))
    const end = async () => {
      await follower.stop()
      await own.close()
    }
    return { follower, cable, end }
  }

  async function change(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const name = `map-${randomInt(12)}`
      const existing = await maps.get(name).catch(() => undefined)
      if (existing === undefined) await maps.create({ metadata: { name } })
      else if (randomInt(3) === 0) await maps.delete(name)
      else await maps.patch(name, { type: 'merge', patch: { data: { value: String(randomInt(1e9)) } } })
    }
  }

  async function forgetHistory(): Promise<void> {
    const { metadata } = await maps.list()
    const answer = await fetch(`${plane.etcd}/v3/kv/compaction`, {
      method: 'POST',
      body: JSON.stringify({ revision: metadata.resourceVersion, physical: true }),
    })
    expect(answer.status).toBe(200)
    // The watch cache remembers on its own; only a restart empties it.
    await plane.killApiServer()
    await plane.startApiServer()
  }

  it('follows by a streamed snapshot and its watch, without a list', async () => {
    await change(20)
    const queries: string[] = []
    const source: ReflectorSource<ConfigMap> = {
      list: (query, call) => {
        queries.push('list')
        return maps.list(query, call)
      },
      watch: (query, call) => {
        queries.push(query.sendInitialEvents === true ? 'watch with initial events' : 'watch')
        return maps.watch(query, call)
      },
    }
    const { follower, end } = await follow(source)
    await change(60)
    await follower.meets(maps)
    expect(queries).toEqual(['watch with initial events'])
    expectNothingTwice(follower)
    await end()
  })

  it('falls back to pages and a watch where the server declines to stream', async () => {
    const source: ReflectorSource<ConfigMap> = {
      list: (query, call) => maps.list({ ...query, limit: 3 }, call),
      watch: (query, call) =>
        // Really declined: this combination is invalid.
        maps.watch(query.sendInitialEvents === true ? { ...query, resourceVersionMatch: 'Exact' } : query, call),
    }
    const { follower, end } = await follow(source)
    await change(40)
    await follower.meets(maps)
    expect(follower.failures).toHaveLength(1)
    expect(follower.failures[0]).toBeInstanceOf(ApiError)
    expectNothingTwice(follower)
    await end()
  })

  it('says in one line what the example program needs', async () => {
    const example = spawn(process.execPath, ['--import', 'tsx', 'examples/watch-pods.ts'], {
      env: { PATH: process.env['PATH'], KUBECONFIG: '/nowhere/config' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const exited = once(example, 'exit')
    const complaint = Buffer.concat(await example.stderr.toArray()).toString()
    expect(complaint).toMatch(/^no API server configured: .*set KUBECONFIG\n$/)
    expect(await exited).toEqual([1, null])
  })

  it('is what the example program shows', async () => {
    const containers = [{ name: 'main', image: 'none' }]
    const all = client.resource(pods).in(namespace)
    await all.create({ metadata: { name: 'early' }, spec: { containers } })
    const example = spawn(process.execPath, ['--import', 'tsx', 'examples/watch-pods.ts'], {
      env: { ...process.env, KUBECONFIG: plane.kubeconfigFile },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(example, 'exit')
    const lines: string[] = []
    for await (const line of createInterface(example.stdout)) {
      lines.push(line)
      if (line.endsWith('watching')) await all.create({ metadata: { name: 'late' }, spec: { containers } })
      if (line.endsWith('late')) example.kill('SIGINT')
    }
    expect(lines).toEqual([`added ${namespace} early`, 'that is all for now; watching', `added ${namespace} late`])
    expect(await exited).toEqual([0, null])
  })

  it('tells an object that it cannot read from a bad link, waits longer, and recovers when the object is gone', async () => {
    const refuse = (bytes: Uint8Array): void => {
      if (Buffer.from(bytes).includes('poison')) throw new WireError('bad-value', 'this reader cannot read poison')
    }
    const codec: BodyCodec = {
      ...protobufCodec,
      decode: (bytes, contentType) => {
        refuse(bytes)
        return protobufCodec.decode(bytes, contentType)
      },
      decodeEvent: (frame) => {
        refuse(frame)
        return protobufCodec.decodeEvent(frame)
      },
    }
    const own = new KubeClient(await loadKubeconfig({ file: plane.kubeconfigFile }), { codec })
    const all = client.resource(leases).in(namespace)
    await all.create({ metadata: { name: 'good' } })
    const told: string[] = []
    const stop = new AbortController()
    const clock: Clock = {
      nowMs: () => systemClock.nowMs(),
      monotonicMs: () => systemClock.monotonicMs(),
      schedule: (delayMs, action) => systemClock.schedule(delayMs, action),
      // Long enough for the object to go, if it should.
      sleep: async () => {
        if (told.filter((line) => line === 'failed unreadable').length === 2) await all.delete('poison')
      },
    }
    for await (const change of new Reflector(own.resource(leases).in(namespace), { clock }).notifications(
      stop.signal,
    )) {
      if (change.type === 'failed') expect(change.retryInMs).toBeGreaterThanOrEqual(BACKOFF_MAX_MS)
      if (change.type === 'failed') told.push(`failed ${change.kind}`)
      else told.push(change.type === 'synced' ? 'synced' : `${change.type} ${change.object.metadata?.name}`)
      if (told.at(-1) === 'synced' && told.length === 2) await all.create({ metadata: { name: 'poison' } })
      if (told.at(-1) === 'synced' && told.length > 2) await all.create({ metadata: { name: 'next' } })
      if (told.at(-1) === 'added next') stop.abort()
    }
    await own.close()
    expect(told).toEqual(['added good', 'synced', 'failed unreadable', 'failed unreadable', 'synced', 'added next'])
  })

  it('resumes after the cable was cut', async () => {
    const { follower, cable, end } = await follow()
    await follower.meets(maps)
    for (let round = 0; round < 3; round++) {
      cable.cut()
      await change(20)
      cable.mend()
      await follower.meets(maps)
    }
    expectNothingTwice(follower)
    await end()
  })

  it('resumes after the server was killed and started again', async () => {
    const { follower, end } = await follow()
    await change(20)
    await follower.meets(maps)
    await plane.killApiServer()
    await plane.startApiServer()
    await change(20)
    await follower.meets(maps)
    expect(follower.failures.length).toBeGreaterThan(0)
    expectNothingTwice(follower)
    await end()
  })

  it('notices that the server is behind what it remembers, as after restoring a backup', async () => {
    const ghost: ConfigMap = { metadata: { name: 'ghost', namespace, uid: 'ghost', resourceVersion: '999999998' } }
    const reflector = new Reflector(maps, { restored: { objects: [ghost], resourceVersion: '999999999' } })
    const told: string[] = []
    for await (const notification of reflector.notifications(new AbortController().signal)) {
      if (notification.type === 'deleted') told.push(`deleted ${notification.object.metadata?.name}`)
      if (notification.type === 'failed') told.push(`failed ${(notification.error as ApiError).code}`)
      if (notification.type === 'synced') break
    }
    expect(told).toEqual(['failed 504', 'deleted ghost'])
    expect(reflector.objects.size).toBe((await maps.list()).items.length)
  })

  it('tells exactly the differences after the server forgot the history it would need', async () => {
    const { follower, cable, end } = await follow()
    await change(20)
    await follower.meets(maps)
    cable.cut()
    await change(40)
    await forgetHistory()
    cable.mend()
    await follower.meets(maps)
    const codes = follower.failures.filter((error) => error instanceof ApiError).map((error) => error.code)
    expect(codes).toContain(410)
    expectNothingTwice(follower)
    await end()
  })
})
