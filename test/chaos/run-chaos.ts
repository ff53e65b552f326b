/**
 * Readers of many habits behind an edge, writes and disturbances at random, and an oracle that watches the API server itself.
 * From time to time everything is left in peace until each reader knows what the API server has; whoever does not in the end,
 * or was told what no API server would say, is the result.
 */
import { setMaxListeners } from 'node:events'
import { configMaps } from '../../src/kube/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ChaosReader, type Habits } from './chaos-reader.ts'
import { ChaosWorld, NAMESPACE } from './chaos-world.ts'
import { Dice } from './dice.ts'
import { type DisturbanceName, disturb } from './disturbances.ts'
import { Writer } from './writer.ts'

export interface ChaosOptions {
  readonly seed: number
  readonly seconds: number
  /** Whether the process of the edge is killed too. */
  readonly kills: boolean
  readonly say: (line: string) => void
}

export interface ChaosResult {
  readonly problems: readonly string[]
  readonly totals: Readonly<Record<string, number>>
}

/** Between two moments of peace. */
const stormLeastMs = 5_000
const stormMostMs = 15_000
const calmMs = 120_000
const pollMs = 50
/** What the edge may have open after everybody has left, beside what it had before anybody came. */
const spareHandles = 24
/** What an edge with a hundred small objects may hold in the end. */
const maxResidentMiB = 350

const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const common = { path, encoding: 'json', wantsBookmarks: true } as const
const habits: readonly Habits[] = [
  { ...common, name: 'streamed', begins: 'streamed' },
  { ...common, name: 'streamed-protobuf', begins: 'streamed', encoding: 'protobuf', isRestless: true },
  { ...common, name: 'streamed-short', begins: 'streamed', timeoutSeconds: 3, encoding: 'protobuf' },
  { ...common, name: 'listed', begins: 'listed' },
  { ...common, name: 'listed-unmarked', begins: 'listed', wantsBookmarks: false, isRestless: true },
  { ...common, name: 'paged', begins: 'listed', pageSize: 7, encoding: 'protobuf', timeoutSeconds: 5 },
  { ...common, name: 'any', begins: 'any', wantsBookmarks: false },
  { ...common, name: 'any-paged', begins: 'any', pageSize: 9, isRestless: true },
  { ...common, name: 'selecting', begins: 'listed', labelSelector: 'on=1' },
  { ...common, name: 'selecting-streamed', begins: 'streamed', labelSelector: 'on=1', isRestless: true },
  { ...common, name: 'selecting-any', begins: 'any', labelSelector: 'on!=1', encoding: 'protobuf', timeoutSeconds: 4 },
  { ...common, name: 'single', begins: 'listed', fieldSelector: 'metadata.name=object-3', isRestless: true },
  { ...common, name: 'everywhere', begins: 'streamed', path: '/api/v1/configmaps', labelSelector: 'app=chaos' },
]

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const world = await ChaosWorld.start()
  try {
    return await new Chaos(world, options).run()
  } finally {
    await world.stop()
  }
}

class Chaos {
  readonly #world: ChaosWorld
  readonly #options: ChaosOptions
  readonly #dice: Dice
  readonly #writer: Writer
  readonly #ended = new AbortController()
  readonly #readers: ChaosReader[] = []
  readonly #disturbed = new Map<DisturbanceName, number>()
  #syncs = 0

  constructor(world: ChaosWorld, options: ChaosOptions) {
    this.#world = world
    this.#options = options
    this.#dice = new Dice(options.seed)
    this.#writer = new Writer(world, new Dice(options.seed + 1))
  }

  async run(): Promise<ChaosResult> {
    setMaxListeners(0, this.#ended.signal)
    const before = this.#world.usage
    await this.#addReaders()
    const running = [this.#writer, ...this.#readers].map((each) => each.run(this.#ended.signal))
    const endMs = systemClock.monotonicMs() + this.#options.seconds * 1000
    let problems: string[] = []
    while (systemClock.monotonicMs() < endMs && problems.length === 0) {
      await this.#storm()
      problems = [...(await this.#calm()), ...this.#violations()]
    }
    this.#ended.abort(new Error('that was all'))
    await Promise.all(running)
    problems.push(...(await this.#leftBehind(before)), ...this.#world.complaints)
    if (problems.length > 0) this.#options.say(this.#world.log)
    return { problems, totals: this.#totals() }
  }

  async #addReaders(): Promise<void> {
    for (const [index, habit] of habits.entries())
      this.#readers.push(
        new ChaosReader(habit, await this.#world.reader(`reader-${index}`), new Dice(this.#options.seed + 100 + index)),
      )
    const oracle = new ChaosReader({ ...common, name: 'oracle', begins: 'listed' }, this.#world.oracle(), this.#dice)
    this.#readers.push(oracle)
  }

  async #storm(): Promise<void> {
    this.#writer.isPaused = false
    const untilMs = systemClock.monotonicMs() + this.#dice.between(stormLeastMs, stormMostMs)
    while (systemClock.monotonicMs() < untilMs) {
      await systemClock.sleep(this.#dice.between(100, 1_500))
      await disturb(
        this.#world,
        this.#dice,
        (name) => name !== 'edge killed' || this.#options.kills,
        (name) => this.#disturbed.set(name, (this.#disturbed.get(name) ?? 0) + 1),
      )
    }
  }

  /** Nothing is written or disturbed until everybody knows the same; what is wrong if that does not come. */
  async #calm(): Promise<string[]> {
    this.#writer.isPaused = true
    const startMs = systemClock.monotonicMs()
    for (;;) {
      const wrong = await this.#differences()
      const elapsedMs = systemClock.monotonicMs() - startMs
      if (wrong.length === 0) {
        this.#syncs += 1
        const events = this.#readers.reduce((sum, { counts }) => sum + counts.events, 0)
        this.#options.say(`in step after ${Math.round(elapsedMs)} ms, ${events} events so far`)
        return []
      }
      if (elapsedMs > calmMs) return wrong
      await systemClock.sleep(pollMs)
    }
  }

  async #differences(): Promise<string[]> {
    const { items } = await this.#world.admin.resource(configMaps).in(NAMESPACE).list()
    return this.#readers.flatMap(({ habits: { name, labelSelector, fieldSelector }, known, lastFailure }) => {
      const wanted = items
        .filter(({ metadata }) => labelSelector !== 'on=1' || metadata?.labels?.['on'] === '1')
        .filter(({ metadata }) => labelSelector !== 'on!=1' || metadata?.labels?.['on'] !== '1')
        .filter(({ metadata }) => fieldSelector === undefined || fieldSelector === `metadata.name=${metadata?.name}`)
        .map(({ metadata: m }) => `${m?.namespace}/${m?.name} ${m?.uid}@${m?.resourceVersion}`)
      // Every namespace has one of its own, which is none of ours.
      const has = known.lines.filter((line) => !line.includes('/kube-root-ca.crt '))
      const due = wanted.filter((line) => !line.includes('/kube-root-ca.crt '))
      const missing = due.filter((line) => !has.includes(line)).slice(0, 3)
      const left = has.filter((line) => !due.includes(line)).slice(0, 3)
      if (missing.length === 0 && left.length === 0) return []
      const at = `at ${known.version}, last failure: ${lastFailure}`
      return [`${name} lacks ${missing.join(', ') || 'nothing'} and has left ${left.join(', ') || 'nothing'} (${at})`]
    })
  }

  #violations(): string[] {
    return this.#readers.flatMap(({ habits: { name }, known }) => known.violations.map((text) => `${name}: ${text}`))
  }

  /** Once everybody has left: handles, files and memory. */
  async #leftBehind(before: ChaosWorld['usage']): Promise<string[]> {
    const most = before.handles + spareHandles
    const untilMs = systemClock.monotonicMs() + calmMs
    while (this.#world.usage.handles > most && systemClock.monotonicMs() < untilMs) await systemClock.sleep(pollMs)
    const { handles, residentMiB, files } = this.#world.usage
    this.#options.say(`handles ${before.handles} -> ${handles}, files ${before.files} -> ${files}`)
    this.#options.say(`resident ${before.residentMiB} -> ${residentMiB} MiB`)
    const problems: string[] = []
    if (handles > most) problems.push(`the edge has ${handles} handles open, at first it had ${before.handles}`)
    if (residentMiB > maxResidentMiB) problems.push(`the edge holds ${residentMiB} MiB`)
    if (files > before.files + spareHandles)
      problems.push(`the edge has ${files} files, at first it had ${before.files}`)
    return problems
  }

  #totals(): Record<string, number> {
    const totals: Record<string, number> = { readers: this.#readers.length, 'sync points': this.#syncs }
    for (const { counts } of this.#readers)
      for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count
    return { ...totals, ...this.#writer.counts, ...Object.fromEntries(this.#disturbed) }
  }
}
