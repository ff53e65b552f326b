/**
 * The reflector against a server that misbehaves at random. Whatever it did, once it behaves again the reader's view
 * equals the server's state; and on the way every change told was a change: nothing twice, nothing out of thin air.
 */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { UNREADABLE_BACKOFF } from '../../runtime/backoff.ts'
import { ManualClock } from '../../runtime/clock.ts'
import type { ListQuery, WatchQuery } from '../client/options.ts'
import { TransportError } from '../client/transport-error.ts'
import type { KubeList, KubeObject, WatchEvent } from '../objects.ts'
import { ApiError } from '../status/status.ts'
import { WatchFrameError } from '../watch/frames.ts'
import { type Notification, Reflector, type ReflectorSource, type WatchSource } from './reflector.ts'
import { keyOf } from './view.ts'

const long = process.env['CAUSEWAY_LONG'] === '1'
const runs = long ? 20_000 : 400
/** Longer than the longest wait that a fault can have caused. */
const settleMs = UNREADABLE_BACKOFF.maxMs + 120_000
const timeoutMs = long ? 300_000 : 20_000
const names = ['a', 'b', 'c', 'd'] as const
const serverPageSize = 2

const apiError = (code: number, reason: string, retryAfterSeconds?: number): ApiError =>
  new ApiError({
    code,
    reason,
    message: reason,
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  })

const tooLarge = new ApiError({
  code: 504,
  reason: 'Timeout',
  message: 'Too large resource version',
  details: {
    retryAfterSeconds: 1,
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
  },
})

/** Faults that may hit the next request, or an open stream. */
const faults = {
  refused: new TransportError('refused', 'connection refused'),
  reset: new TransportError('reset', 'connection reset'),
  truncated: new WatchFrameError('truncated', 'watch stream ended inside an event'),
  oversized: new WatchFrameError('too-large', 'watch event exceeds the limit'),
  expired: apiError(410, 'Expired'),
  internal: apiError(500, 'InternalError'),
  busy: apiError(429, 'TooManyRequests', 2),
  unavailable: apiError(503, 'ServiceUnavailable'),
  unauthorized: apiError(401, 'Unauthorized'),
  forbidden: apiError(403, 'Forbidden'),
  invalid: apiError(422, 'Invalid'),
  badRequest: apiError(400, 'BadRequest'),
  tooLarge,
} as const
type Fault = keyof typeof faults

class ScriptedWatch implements WatchSource<KubeObject> {
  /** Only later versions are sent. */
  readonly from: number
  readonly sent: WatchEvent[] = []
  #frozen = false
  #queue: Array<WatchEvent | Error | 'end'> = []
  #wake: (() => void) | undefined

  constructor(from: number) {
    this.from = from
  }

  push(event: WatchEvent): void {
    if (this.#frozen) return
    this.sent.push(event)
    this.#enqueue(event)
  }

  finish(how: Error | 'end'): void {
    this.#enqueue(how)
  }

  /** The connection is dead, but nobody has noticed yet. */
  freeze(): void {
    this.#frozen = true
  }

  close(): void {
    this.finish(new Error('closed by the reader'))
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent, void, undefined> {
    for (;;) {
      const item = this.#queue.shift()
      if (item === 'end') return
      if (item instanceof Error) throw item
      if (item !== undefined) yield item
      else await this.#news()
    }
  }

  #enqueue(item: WatchEvent | Error | 'end'): void {
    this.#queue.push(item)
    this.#wake?.()
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

interface Backup {
  readonly state: ReadonlyMap<string, KubeObject>
  readonly version: number
}

class ScriptedServer implements ReflectorSource<KubeObject> {
  readonly state = new Map<string, KubeObject>()
  readonly watches: ScriptedWatch[] = []
  readonly versionPrefix: string
  /** Hit the coming requests, one each. */
  nextFaults: Array<Fault | 'none'> = []
  streamsSnapshots: 'yes' | 'refuses' | 'lets wait' | 'early bookmark' = 'yes'
  /** How many initial events get through before the stream breaks. */
  cutInitialAfter: number | undefined
  /** How many old events a resumed watch repeats. */
  rewind = 0
  #version = 10
  #oldest = 10
  #uid = 0
  #log: Array<{ version: number; event: WatchEvent }> = []
  #snapshots = new Map<string, { version: number; objects: KubeObject[] }>()

  constructor(versionPrefix: string) {
    this.versionPrefix = versionPrefix
  }

  put(name: string): void {
    const existing = this.state.get(name)
    const uid = existing?.metadata?.uid ?? `uid-${this.#uid++}`
    const object = { metadata: { name, uid, resourceVersion: this.#render(++this.#version) } }
    this.state.set(name, object)
    this.#record({ type: existing === undefined ? 'ADDED' : 'MODIFIED', object })
  }

  remove(name: string): void {
    const existing = this.state.get(name)
    if (existing === undefined) return
    this.state.delete(name)
    const metadata = { ...existing.metadata, resourceVersion: this.#render(++this.#version) }
    this.#record({ type: 'DELETED', object: { metadata } })
  }

  compact(): void {
    this.#oldest = this.#version
    this.#snapshots.clear()
  }

  /** Objects and versions of the past, no history, all connections gone. */
  restore(backup: Backup): void {
    this.state.clear()
    for (const [name, object] of backup.state) this.state.set(name, object)
    this.#version = backup.version
    this.#log = []
    this.compact()
    this.finishWatches(faults.reset)
  }

  backup(): Backup {
    return { state: new Map(this.state), version: this.#version }
  }

  finishWatches(how: Error | 'end'): void {
    for (const watch of this.watches.splice(0)) watch.finish(how)
  }

  /** From here on nothing goes wrong; dead connections are noticed. */
  behave(): void {
    this.nextFaults = []
    this.streamsSnapshots = 'yes'
    this.rewind = 0
    this.cutInitialAfter = undefined
    this.finishWatches(faults.reset)
  }

  bookmark(back = 0): WatchEvent {
    return {
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: this.#render(Math.max(1, this.#version - back)) } },
    }
  }

  async list(query: ListQuery): Promise<KubeList> {
    this.#strike()
    if (query.resourceVersion !== undefined && this.#parse(query.resourceVersion) > this.#version) throw tooLarge
    const token = query.continue ?? `start-${this.#version}`
    const snapshot = this.#snapshots.get(token) ?? { version: this.#version, objects: [...this.state.values()] }
    if (query.continue !== undefined && !this.#snapshots.has(token)) throw faults.expired
    const size = query.limit === undefined ? Number.POSITIVE_INFINITY : serverPageSize
    const rest = snapshot.objects.slice(size)
    const next = `${token}+`
    if (rest.length > 0) this.#snapshots.set(next, { version: snapshot.version, objects: rest })
    const metadata = { resourceVersion: this.#render(snapshot.version), ...(rest.length > 0 ? { continue: next } : {}) }
    return { metadata, items: snapshot.objects.slice(0, size) }
  }

  async watch(query: WatchQuery): Promise<ScriptedWatch> {
    this.#strike()
    if (query.sendInitialEvents === true && this.streamsSnapshots === 'refuses') throw faults.invalid
    const watch = new ScriptedWatch(query.resourceVersion === undefined ? 0 : this.#parse(query.resourceVersion))
    this.watches.push(watch)
    if (query.sendInitialEvents === true) this.#sendInitial(watch)
    else this.#replay(watch, this.#parse(query.resourceVersion ?? ''))
    return watch
  }

  #strike(): void {
    const fault = this.nextFaults.shift()
    if (fault !== undefined && fault !== 'none') throw faults[fault]
  }

  #sendInitial(watch: ScriptedWatch): void {
    let sent = 0
    if (this.streamsSnapshots === 'early bookmark') watch.push(this.bookmark())
    for (const object of this.state.values()) {
      if (sent++ === this.cutInitialAfter) {
        watch.finish(faults.truncated)
        this.cutInitialAfter = undefined
        return
      }
      watch.push({ type: 'ADDED', object })
    }
    if (this.streamsSnapshots !== 'lets wait') this.endInitial(watch)
  }

  endInitial(watch: ScriptedWatch): void {
    const annotations = { 'k8s.io/initial-events-end': 'true' }
    const metadata = { resourceVersion: this.#render(this.#version), annotations }
    watch.push({ type: 'BOOKMARK', object: { metadata } })
  }

  #replay(watch: ScriptedWatch, from: number): void {
    // A real server meets a watch from the future with silence: so does this one, by having nothing newer to send.
    if (from < this.#oldest) watch.push({ type: 'ERROR', object: { ...faults.expired.status } })
    else {
      const missed = this.#log.filter(({ version }) => version > Math.max(this.#oldest, from - this.rewind))
      for (const { event } of missed) watch.push(event)
    }
  }

  #record(event: WatchEvent): void {
    this.#log.push({ version: this.#version, event })
    for (const watch of this.watches) if (this.#version > watch.from) watch.push(event)
  }

  #parse(version: string): number {
    return Number(version.slice(this.versionPrefix.length))
  }

  #render(version: number): string {
    return this.versionPrefix + version
  }
}

type Command = (server: ScriptedServer, clock: ManualClock) => unknown

const onStreams =
  (strike: (watch: ScriptedWatch, server: ScriptedServer) => void): Command =>
  (server) => {
    for (const watch of server.watches) strike(watch, server)
  }

/** A name first, so that a counterexample reads as a story. */
type NamedCommand = readonly [name: string, command: Command]

const name = fc.constantFrom(...names)
const fault = fc.constantFrom(...(Object.keys(faults) as Fault[]))

const commands: fc.Arbitrary<NamedCommand>[] = [
  name.map((n) => [`put ${n}`, (server) => server.put(n)]),
  name.map((n) => [`put ${n}`, (server) => server.put(n)]),
  name.map((n) => [`remove ${n}`, (server) => server.remove(n)]),
  name.map((n) => [
    `recreate ${n}`,
    (server) => {
      server.remove(n)
      server.put(n)
    },
  ]),
  fc.nat(20_000).map((ms) => [`advance ${ms}`, (_server, clock) => clock.advance(ms)]),
  fc
    .array(fc.oneof(fault, fc.constant('none' as const)), { minLength: 1, maxLength: 4 })
    .map((list) => [`answer with ${list.join()}`, (server) => server.nextFaults.push(...list)]),
  fault.map((f) => [`break streams: ${f}`, (server) => server.finishWatches(faults[f])]),
  fc.constant(['end streams', (server) => server.finishWatches('end')]),
  fc.constant(['freeze streams', onStreams((watch) => watch.freeze())]),
  fc.constant(['bookmark', onStreams((watch, server) => watch.push(server.bookmark()))]),
  fc.constant(['end of initial events', onStreams((watch, server) => server.endInitial(watch))]),
  fc.constant(['garbage', onStreams((watch) => watch.push({ type: 'ADDED', object: { metadata: { name: 'x' } } }))]),
  fc.constant(['compact', (server) => server.compact()]),
  fc.nat(3).map((n) => [`cut initial events after ${n}`, (server) => Object.assign(server, { cutInitialAfter: n })]),
  fc
    .constantFrom('yes', 'refuses', 'lets wait', 'early bookmark')
    .map((mode) => [`initial events: ${mode}`, (server) => Object.assign(server, { streamsSnapshots: mode })]),
]

/** Only a reader that may compare versions can see through these. */
const repetitions: fc.Arbitrary<NamedCommand>[] = [
  fc.nat(9).map((back) => [
    `repeat event -${back}`,
    onStreams((watch) => {
      const event = watch.sent.at(-1 - back)
      if (event !== undefined) watch.push(event)
    }),
  ]),
  fc.integer({ min: 1, max: 9 }).map((n) => [`rewind ${n}`, (server) => Object.assign(server, { rewind: n })]),
  fc.nat(5).map((n) => [`old bookmark -${n}`, onStreams((watch, server) => watch.push(server.bookmark(n)))]),
]

/** Applies notifications and insists that each of them says something new and true. */
class Reader {
  readonly view = new Map<string, KubeObject>()
  readonly told = new Set<string>()
  readonly repeated: string[] = []
  synced = 0
  failures = 0

  read(notification: Notification<KubeObject>): void {
    if (notification.type === 'synced') this.synced++
    else if (notification.type === 'failed') this.failures++
    else this.#apply(notification)
  }

  #apply(change: Exclude<Notification<KubeObject>, { type: 'synced' | 'failed' }>): void {
    const key = keyOf(change.object)
    const known = this.view.get(key)
    this.#remember(`${change.type} ${change.object.metadata?.uid} ${change.object.metadata?.resourceVersion}`)
    if (change.type === 'added') {
      expect(known).toBeUndefined()
      this.view.set(key, change.object)
    } else if (change.type === 'updated') {
      expect(change.previous).toBe(known)
      expect(change.object.metadata?.uid).toBe(known?.metadata?.uid)
      expect(change.object.metadata?.resourceVersion).not.toBe(known?.metadata?.resourceVersion)
      this.view.set(key, change.object)
    } else {
      expect(change.object.metadata?.uid).toBe(known?.metadata?.uid)
      this.view.delete(key)
    }
  }

  #remember(message: string): void {
    if (this.told.has(message)) this.repeated.push(message)
    this.told.add(message)
  }
}

async function play(script: readonly NamedCommand[], versionPrefix: string): Promise<Reader> {
  const clock = new ManualClock()
  const server = new ScriptedServer(versionPrefix)
  const reflector = new Reflector(server, { clock, random: () => 0.5, comparableVersions: versionPrefix === '' })
  const reader = new Reader()
  const stop = new AbortController()
  const reading = (async () => {
    for await (const notification of reflector.notifications(stop.signal)) reader.read(notification)
  })()
  let failure: unknown
  reading.catch((error: unknown) => {
    failure = error
  })
  for (const [, command] of script) {
    await command(server, clock)
    await clock.advance(0)
  }
  server.behave()
  await clock.advance(settleMs)
  server.put('last')
  await clock.advance(0)
  expect(failure).toBeUndefined()
  expect(new Map(reflector.objects)).toEqual(server.state)
  expect(reader.view).toEqual(server.state)
  expect(reflector.synced).toBe(true)
  stop.abort()
  server.finishWatches('end')
  await reading
  expect(clock.pending).toBe(0)
  return reader
}

const script = (choices: fc.Arbitrary<NamedCommand>[]): fc.Arbitrary<NamedCommand[]> =>
  fc.array(fc.oneof(...choices), { maxLength: 30, size: 'max' })

const tale = (commands: readonly NamedCommand[]): string => commands.map(([text]) => text).join('; ')

it(
  'converges and tells every change once, whatever a server with ordered versions does',
  async () => {
    await fc.assert(
      fc.asyncProperty(script([...commands, ...repetitions]), async (story) => {
        const reader = await play(story, '')
        expect(reader.repeated, tale(story)).toEqual([])
      }),
      { numRuns: runs },
    )
  },
  timeoutMs,
)

it(
  'does so with versions that it must not compare',
  async () => {
    await fc.assert(
      fc.asyncProperty(script(commands), async (story) => {
        const reader = await play(story, 'v')
        expect(reader.repeated, tale(story)).toEqual([])
      }),
      { numRuns: runs },
    )
  },
  timeoutMs,
)

it(
  'follows a server that was set back to an old backup',
  async () => {
    await fc.assert(
      fc.asyncProperty(script(commands), script(commands), script(commands), async (before, lost, after) => {
        let backup: Backup | undefined
        const save: Command = (server) => {
          backup = server.backup()
        }
        // A server that overtakes its own past before the reader returns cannot be told from one that never fell back.
        const restore: Command = async (server, clock) => {
          server.restore(backup ?? server.backup())
          server.behave()
          await clock.advance(settleMs)
        }
        await play([...before, ['back up', save], ...lost, ['restore', restore], ...after], '')
      }),
      { numRuns: runs },
    )
  },
  timeoutMs,
)
