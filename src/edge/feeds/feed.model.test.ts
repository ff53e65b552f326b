/**
 * A feed and its readers against an API server that misbehaves at random: cuts, compactions, a set-back etcd, sponsors that
 * come and go. Whatever happened, what a reader began with and the events it was given make what the feed has, and in the end
 * what the API server has; and on the way every event was one that an API server could have sent.
 */
import * as fc from 'fast-check'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import { rest } from '../../../test/worlds/object-server.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isNotNewer } from '../../kube/reflector/versions.ts'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { scopeFrom, scopeOf, writeScope } from './collection-scope.ts'
import { FEED_LINGER_MS, Feed } from './feed.ts'
import { cursorAfter, cursorAtEnd, type FeedCursor } from './feed-cursor.ts'
import { KeptObject } from './kept-object.ts'
import { type Selection, selected, selectionFrom } from './selection.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
const runs = isLong ? 20_000 : 300
const timeoutMs = isLong ? 900_000 : 60_000
const names = ['a', 'b', 'c'] as const
/** Longer than any wait between two tries. */
const settleMs = 120_000

const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/default/configmaps' }) as ResourceRequest
const scope = scopeOf(info)
const labelled = scopeFrom({ ...writeScope(scope), labelSelector: 'on=1' })

type State = ReadonlyMap<string, string>

/** What a client knows: objects by name, as `uid@version`. */
class Reader {
  readonly feed: Feed
  readonly selection: Selection
  readonly view: Map<string, string>
  version: string
  cursor: FeedCursor
  leave: () => void
  /** Whether the version it could resume from stands for less than it has been told. */
  hasTakenInferred = false
  /** The events of this stream. */
  told = new Set<string>()

  constructor(feed: Feed, selection: Selection, start: { view: State; version: string; cursor: FeedCursor }) {
    this.feed = feed
    this.selection = selection
    this.view = new Map(start.view)
    this.version = start.version
    this.cursor = start.cursor
    this.leave = feed.join(member())
  }

  /** Takes at most so many changes; returns whether it has to begin anew. */
  take(atMost: number): 'gone' | undefined {
    for (let count = 0; count < atMost; count++) {
      const change = this.cursor.next()
      if (change === 'gone') return 'gone'
      if (change === undefined) return this.#caughtUp()
      const event = selected(change, this.selection)
      if (event !== undefined) this.#apply(event.type, event.object)
    }
    return undefined
  }

  #apply(type: string, object: KeptObject): void {
    const { name = '', uid = '' } = object.metadata
    const text = `${type} ${name} ${uid}@${object.version}`
    expect(this.told.has(text), `twice: ${text}`).toBe(false)
    this.told.add(text)
    expect(isNotNewer(this.version, object.version), `${text} after ${this.version}`).toBe(true)
    const known = this.view.get(name)
    const knownUid = known?.split('@')[0]
    if (type === 'ADDED') expect(known, text).toBeUndefined()
    if (type === 'MODIFIED') expect(knownUid, text).toBe(uid)
    if (type === 'DELETED' && !(known === undefined && this.hasTakenInferred)) expect(knownUid, text).toBe(uid)
    if (type === 'DELETED' && object.version === this.version) this.hasTakenInferred = true
    this.version = object.version
    if (type === 'DELETED') this.view.delete(name)
    else this.view.set(name, `${uid}@${object.version}`)
  }

  /** A bookmark, at which it has what the feed has, unless it has been further than the feed from the start. */
  #caughtUp(): undefined {
    expect(isNotNewer(this.version, this.cursor.version)).toBe(true)
    this.version = this.cursor.version
    this.hasTakenInferred = false
    if (this.version !== this.feed.version) return
    const objects = [...this.feed.objects.values()].filter(this.selection)
    expect(Object.fromEntries(this.view)).toEqual(Object.fromEntries(objects.map(shown)))
  }
}

function member(): Parameters<Feed['join']>[0] {
  return { sponsor: { pool: 'token', authorization: 'Bearer any' }, lost: () => {} }
}

function shown({ metadata = {} }: { metadata?: KubeObject['metadata'] }): readonly [string, string] {
  return [metadata.name ?? '', `${metadata.uid}@${metadata.resourceVersion}`]
}

class World {
  readonly clock = new ManualClock()
  readonly upstream = new CollectionUpstream()
  readonly feed: Feed
  readonly isForgetful: boolean
  readers: Reader[] = []
  /** What the server had at each version. */
  readonly past = new Map<number, readonly KubeObject[]>()
  #values = 0

  constructor(maxHistory: number | undefined) {
    this.isForgetful = maxHistory !== undefined
    const shared = { clock: this.clock, random: () => 0.5, logger: pino({ level: 'silent' }) }
    this.feed = new Feed({ scope, upstream: this.upstream, ...shared, ...(maxHistory && { maxHistory }) })
  }

  remember(): void {
    this.past.set(this.upstream.revision, [...this.upstream.objects.values()])
  }

  put(name: string, isOn: boolean): void {
    this.#values += 1
    this.upstream.put(name, String(this.#values), isOn ? { on: '1' } : {})
  }

  /** Reads what the feed has, and goes on from there. */
  beginHere(isSelecting: boolean): void {
    if (!this.feed.isComplete) return
    const selection = selectionOf(isSelecting)
    const view = new Map([...this.feed.objects.values()].filter(selection).map(shown))
    const start = { view, version: this.feed.version, cursor: cursorAtEnd(this.feed) }
    this.readers.push(new Reader(this.feed, selection, start))
  }

  /** Has read from the API server itself, now or some time ago, and goes on from the feed. */
  beginAt(back: number, isSelecting: boolean): void {
    const [revision, objects] = [...this.past].at(-1 - back) ?? []
    if (revision === undefined || objects === undefined || !this.feed.isComplete) return
    const cursor = cursorAfter(this.feed, String(revision))
    if (cursor === undefined) return
    const selection = selectionOf(isSelecting)
    const view = new Map(objects.filter((object) => selection(kept(object))).map(shown))
    this.readers.push(new Reader(this.feed, selection, { view, version: String(revision), cursor }))
  }

  /** The connection of a reader ends; it comes back with the last version it was told. */
  resume(index: number): void {
    const reader = this.readers[index % this.readers.length]
    if (reader === undefined) return
    const cursor = cursorAfter(this.feed, reader.version)
    if (cursor === undefined) {
      this.remove(reader)
      return
    }
    reader.cursor = cursor
    reader.told = new Set()
  }

  take(index: number, atMost: number): void {
    const reader = this.readers[index % this.readers.length]
    if (reader?.take(atMost) !== 'gone') return
    this.remove(reader)
  }

  remove(reader: Reader | undefined): void {
    if (reader === undefined) return
    reader.leave()
    this.readers = this.readers.filter((each) => each !== reader)
  }

  cut(): void {
    this.upstream.cut()
    this.feed.setReachable(false)
  }

  restore(): void {
    this.upstream.isUp = true
    this.feed.setReachable(true)
    void this.clock.advance(0)
  }

  /** Somebody lists by itself, and the feed may have it. */
  adopt(): void {
    if (!this.upstream.isUp) return
    const objects = [...this.upstream.objects.values()].map(kept)
    this.feed.adopt({ objects, resourceVersion: String(this.upstream.revision) })
  }

  async settle(): Promise<void> {
    this.restore()
    const leave = this.feed.join(member())
    // A watch that has just ended is opened again first: only one that breaks makes a reflector doubt the server.
    for (let wait = 0; wait === 0 || (wait < settleMs && !this.#isCurrent()); wait += 10_000) {
      await rest(10)
      this.upstream.bookmark()
      void this.clock.advance(10_000)
      await rest(10)
    }
    leave()
    expect(this.feed.version).toBe(String(this.upstream.revision))
    expect(Object.fromEntries([...this.feed.objects.values()].map(shown))).toEqual(
      Object.fromEntries([...this.upstream.objects.values()].map(shown)),
    )
  }

  /** The feed has to notice before the server has come further than it was. */
  async setBack(back: number): Promise<void> {
    const [revision, objects] = [...this.past].at(-2 - back) ?? []
    if (revision === undefined || objects === undefined) return
    await this.settle()
    const epoch = this.feed.history.epoch
    const isBehind = revision < this.upstream.revision
    this.upstream.setBack(revision, objects)
    for (const known of [...this.past.keys()]) if (known > revision) this.past.delete(known)
    await this.settle()
    if (isBehind) expect(this.feed.history.epoch).toBeGreaterThan(epoch)
    for (const reader of [...this.readers]) if (reader.take(Infinity) === 'gone') this.remove(reader)
    if (isBehind) expect(this.readers).toEqual([])
  }

  #isCurrent(): boolean {
    return this.feed.state === 'following' && this.feed.version === String(this.upstream.revision)
  }
}

function selectionOf(isSelecting: boolean): Selection {
  return selectionFrom(scope, isSelecting ? labelled : scope, 'ConfigMap')
}

function kept(object: KubeObject): KeptObject {
  return new KeptObject('json', Buffer.from(JSON.stringify(object)))
}

type Command = (world: World) => void | Promise<void>

const small = fc.nat({ max: 5 })
const name = fc.constantFrom(...names)
const command: fc.Arbitrary<readonly [text: string, run: Command]> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(name, fc.boolean()).map(([n, on]) => [`put ${n} ${on}`, (w: World) => w.put(n, on)] as const),
  },
  { weight: 4, arbitrary: name.map((n) => [`delete ${n}`, (w: World) => w.upstream.delete(n)] as const) },
  {
    weight: 3,
    arbitrary: fc.tuple(name, fc.boolean()).map(
      ([n, on]) =>
        [
          `recreate ${n} ${on}`,
          (w: World) => {
            w.upstream.delete(n)
            w.put(n, on)
          },
        ] as const,
    ),
  },
  { weight: 1, arbitrary: fc.constant(['elsewhere', (w: World) => w.upstream.touchElsewhere()] as const) },
  { weight: 1, arbitrary: fc.constant(['bookmark', (w: World) => w.upstream.bookmark()] as const) },
  { weight: 1, arbitrary: fc.constant(['end watches', (w: World) => w.upstream.endWatches()] as const) },
  { weight: 2, arbitrary: fc.constant(['break watches', (w: World) => w.upstream.breakWatches()] as const) },
  { weight: 2, arbitrary: fc.constant(['cut', (w: World) => w.cut()] as const) },
  { weight: 2, arbitrary: fc.constant(['restore', (w: World) => w.restore()] as const) },
  { weight: 2, arbitrary: fc.constant(['compact', (w: World) => w.upstream.compact()] as const) },
  { weight: 1, arbitrary: small.map((n) => [`set back ${n}`, (w: World) => w.setBack(n)] as const) },
  { weight: 2, arbitrary: fc.constant(['adopt', (w: World) => w.adopt()] as const) },
  { weight: 4, arbitrary: fc.boolean().map((on) => [`begin here ${on}`, (w: World) => w.beginHere(on)] as const) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(small, fc.boolean())
      .map(([n, on]) => [`begin at ${n} ${on}`, (w: World) => w.beginAt(n, on)] as const),
  },
  { weight: 4, arbitrary: small.map((n) => [`resume ${n}`, (w: World) => w.resume(n)] as const) },
  { weight: 3, arbitrary: small.map((n) => [`leave ${n}`, (w: World) => w.remove(w.readers[n])] as const) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(small, small)
      .map(([n, count]) => [`take ${n} ${count}`, (w: World) => w.take(n, count)] as const),
  },
  { weight: 3, arbitrary: fc.nat({ max: 40 }).map((n) => [`ticks ${n}`, () => ticks(n)] as const) },
  { weight: 5, arbitrary: fc.nat({ max: 10 }).map((n) => [`turns ${n}`, () => rest(n)] as const) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(0, 1_000, FEED_LINGER_MS)
      .map((ms) => [`wait ${ms}`, (w: World) => w.clock.advance(ms)] as const),
  },
)

/** So little that what takes a few promises is found half done. */
async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Promise.resolve()
}

it(
  'gives every reader what leads from where it began to where the server is',
  async () => {
    const script = fc.array(command, { minLength: 5, maxLength: 60, size: 'max' })
    const property = fc.asyncProperty(script, fc.constantFrom(undefined, 3, 8), async (commands, maxHistory) => {
      const world = new World(maxHistory)
      const leave = world.feed.join(member())
      await rest(5)
      leave()
      for (const [, run] of commands) {
        await run(world)
        world.remember()
      }
      await world.settle()
      for (const reader of [...world.readers]) {
        if (reader.take(Infinity) === 'gone') continue
        expect(reader.version).toBe(String(world.upstream.revision))
      }
      world.feed.close()
    })
    await fc.assert(property, { numRuns: runs, ...(isLong ? {} : { seed: 14 }) })
  },
  timeoutMs,
)
