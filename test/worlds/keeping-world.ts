/** The owner of what is kept, as simple as it can be: feeds in maps. It tells a keeping of each change, and is asked by it. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { DiskKeeping, type DiskKeepingOptions } from '../../src/edge/keeping/disk-keeping.ts'
import { createKeepingMetrics } from '../../src/edge/keeping/keeping-metrics.ts'
import type { FeedState, KeptEntry, LoadedFeed } from '../../src/edge/keeping/kept.ts'
import { type Clock, ManualClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'

export type OpenOptions = Partial<Pick<DiskKeepingOptions, 'keyFile' | 'openWriter' | 'random'>>

export function makeDataDir(): string {
  return mkdtempSync(join(tmpdir(), 'causeway-keeping-'))
}

export function entry(key: string, text: string): KeptEntry {
  return { key, form: 'json', bytes: Buffer.from(text) }
}

export interface OwnedFeed {
  version: number
  readonly secret: boolean
  readonly entries: Map<string, string>
}

/** What one can tell a keeping, or anything that is to be compared with it. */
export interface ToldFeeds {
  readonly feeds: ReadonlyMap<string, OwnedFeed>
  replace(key: string, entries: Readonly<Record<string, string>>, secrecy?: { readonly secret?: boolean }): void
  change(key: string, puts: Readonly<Record<string, string>>, deletes?: readonly string[]): void
  drop(key: string): void
}

export type FeedView = { readonly version: number; readonly entries: Readonly<Record<string, string>> }

/** The same feeds without any keeping. */
export class FeedTwin implements ToldFeeds {
  readonly feeds = new Map<string, OwnedFeed>()

  replace(key: string, entries: Readonly<Record<string, string>>, { secret = false } = {}): void {
    const version = (this.feeds.get(key)?.version ?? 0) + 1
    this.feeds.set(key, { version, secret, entries: new Map(Object.entries(entries)) })
  }

  change(key: string, puts: Readonly<Record<string, string>>, deletes: readonly string[] = []): void {
    const feed = this.feeds.get(key)
    if (feed === undefined) throw new Error(`no feed ${key}`)
    feed.version++
    for (const [name, text] of Object.entries(puts)) feed.entries.set(name, text)
    for (const name of deletes) feed.entries.delete(name)
  }

  drop(key: string): void {
    this.feeds.delete(key)
  }

  /** Feeds as plain values, to be compared with those of another run. */
  view(): Record<string, FeedView> {
    const feeds = [...this.feeds].map(([key, { version, entries }]) => {
      return [key, { version, entries: sorted(entries) }] as const
    })
    return sorted(feeds)
  }
}

export class KeepingOwner extends FeedTwin {
  readonly clock: Clock
  readonly dataDir: string
  readonly registry = new Registry()
  readonly log: string[] = []
  readonly loaded: LoadedFeed[] = []
  readonly keeping: DiskKeeping
  asked = 0

  constructor(dataDir: string, options: OpenOptions = {}, clock: Clock = new ManualClock()) {
    super()
    this.clock = clock
    this.dataDir = dataDir
    const destination = { write: (line: string) => this.log.push(line) }
    this.keeping = new DiskKeeping({
      ...options,
      dataDir,
      clock,
      logger: createLogger({ level: 'info', format: 'json', clock, destination }),
      metrics: createKeepingMetrics(this.registry, () => this.keeping.status),
      presentFeed: (key) => this.#present(key),
    })
  }

  /** Opens a keeping there and takes over what it has. */
  static async start(dataDir: string, options: OpenOptions = {}, clock?: Clock): Promise<KeepingOwner> {
    const owner = new KeepingOwner(dataDir, options, clock)
    for await (const feed of owner.keeping.load()) owner.#adopt(feed)
    return owner
  }

  override replace(key: string, entries: Readonly<Record<string, string>>, { secret = false } = {}): void {
    super.replace(key, entries, { secret })
    const version = this.feeds.get(key)?.version
    this.keeping.replaceFeed(key, { version }, entriesOf(entries), { secret })
  }

  override change(key: string, puts: Readonly<Record<string, string>>, deletes: readonly string[] = []): void {
    super.change(key, puts, deletes)
    const { version, secret = false } = this.feeds.get(key) ?? {}
    this.keeping.changeFeed(key, { version }, entriesOf(puts), deletes, { secret })
  }

  override drop(key: string): void {
    super.drop(key)
    this.keeping.dropFeed(key)
  }

  async restarted(options: OpenOptions = {}): Promise<KeepingOwner> {
    await this.keeping.close()
    return await KeepingOwner.start(this.dataDir, options)
  }

  logged(part: string): boolean {
    return this.log.some((line) => line.includes(part))
  }

  #adopt(feed: LoadedFeed): void {
    this.loaded.push(feed)
    const entries = new Map(feed.entries.map(({ key, bytes }) => [key, Buffer.from(bytes).toString()]))
    this.feeds.set(feed.key, { version: feed.head['version'] as number, secret: feed.secret, entries })
  }

  #present(key: string): FeedState | undefined {
    this.asked++
    const feed = this.feeds.get(key)
    if (feed === undefined) return undefined
    const entries = entriesOf(Object.fromEntries(feed.entries))
    return { head: { version: feed.version }, entries, secret: feed.secret }
  }
}

function entriesOf(texts: Readonly<Record<string, string>>): KeptEntry[] {
  return Object.entries(texts).map(([key, text]) => entry(key, text))
}

function sorted<T>(pairs: Iterable<readonly [string, T]>): Record<string, T> {
  return Object.fromEntries([...pairs].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** A series of numbers from 0 up to but not including 1 that a seed foretells. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const SIZES = [10, 300, 3_000, 20_000]

/** One step of a random life: the same for the same series and the same feeds. Every text is told once only. */
export function randomStep(target: ToldFeeds, random: () => number, step: number): void {
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T
  const text = (): string => `${step}-${Math.floor(random() * 1e9)}-`.padEnd(pick(SIZES), 'x')
  const names = (most: number): string[] =>
    Array.from({ length: Math.floor(random() * most) }, () => `name-${Math.floor(random() * 40)}`)
  const texts = (most: number): Record<string, string> => Object.fromEntries(names(most).map((name) => [name, text()]))
  const key = `feed-${Math.floor(random() * 3)}`
  const chance = random()
  if (chance < 0.12) target.drop(key)
  else if (chance < 0.35 || !target.feeds.has(key)) target.replace(key, texts(60), { secret: key === 'feed-0' })
  else target.change(key, texts(6), names(4))
}
