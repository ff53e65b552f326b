/**
 * A client that keeps a view of a collection through the endpoint of an edge, in one of the ways in which clients do: it lists
 * or has the list streamed, watches, resumes from the last version it was told, and begins anew when told to.
 */
import { type DocumentFormat, documentFormat } from '../../src/kube/document-format.ts'
import type { KubeClient, TransportResponse } from '../../src/kube/index.ts'
import { isNotNewer } from '../../src/kube/reflector/versions.ts'
import { formatQuery } from '../../src/kube/request-query.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Dice } from './dice.ts'
import { KnownObjects, type Seen, seenFrom } from './known-objects.ts'

export interface Habits {
  readonly name: string
  readonly path: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** `streamed`: by a watch, as client-go does. `listed`: the most recent list. `any`: whatever list there is, at first. */
  readonly begins: 'streamed' | 'listed' | 'any'
  readonly pageSize?: number
  readonly encoding: 'json' | 'protobuf'
  readonly wantsBookmarks: boolean
  /** Ends its own watches after some time. */
  readonly isRestless?: boolean
  readonly timeoutSeconds?: number
}

const accepts = { json: 'application/json', protobuf: 'application/vnd.kubernetes.protobuf,application/json' }
const retryLeastMs = 50
const retryMostMs = 500
const headersTimeoutMs = 30_000
/** Answers that say "later". */
const passing: ReadonlySet<number> = new Set([429, 500, 502, 503, 504])

class StaleError extends Error {}

export class ChaosReader {
  readonly habits: Habits
  readonly known: KnownObjects
  readonly counts = { events: 0, streams: 0, lists: 0, bookmarks: 0, gone: 0, failures: 0, warned: 0 }
  /** Why it failed last. */
  lastFailure = ''
  readonly #client: KubeClient
  readonly #dice: Dice
  #isBegun = false
  #hasListed = false

  constructor(habits: Habits, client: KubeClient, dice: Dice) {
    this.habits = habits
    this.#client = client
    this.#dice = dice
    this.known = new KnownObjects(habits.labelSelector === undefined)
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#once(signal)
      } catch (error) {
        if (signal.aborted) return
        this.counts.failures += 1
        this.lastFailure = (error as Error).message
      }
      await systemClock.sleep(this.#dice.between(retryLeastMs, retryMostMs), signal).catch(() => {})
    }
  }

  async #once(signal: AbortSignal): Promise<void> {
    const isStreamed = this.habits.begins === 'streamed'
    if (!this.#isBegun && !isStreamed) await this.#list(signal)
    const own = new AbortController()
    const tired = this.habits.isRestless === true ? this.#dice.between(100, 3_000) : 0
    const cancel = tired > 0 ? systemClock.schedule(tired, () => own.abort(new Error('enough'))) : (): void => {}
    try {
      await this.#watch(!this.#isBegun && isStreamed, AbortSignal.any([signal, own.signal]))
    } catch (error) {
      if (!own.signal.aborted) throw error
    } finally {
      cancel()
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const isAny = this.habits.begins === 'any' && !this.#hasListed
    const items: Seen[] = []
    let token = ''
    let version = ''
    let isWarned = false
    do {
      const query: [string, string][] =
        this.habits.pageSize === undefined ? [] : [['limit', String(this.habits.pageSize)]]
      if (token !== '') query.push(['continue', token])
      else if (isAny) query.push(['resourceVersion', '0'])
      const { response, format } = await this.#ask(query, signal)
      isWarned ||= response.headers['warning'] !== undefined
      const body = await wholeOf(response)
      const metadata = format.walker.listMeta(body)
      items.push(...format.walker.items(body).map((item) => seenFrom(format.walker.identityOf(item.toDocument()))))
      token = metadata.continue ?? ''
      version = metadata.resourceVersion ?? ''
    } while (token !== '')
    this.counts.lists += 1
    if (isWarned) this.counts.warned += 1
    if (this.known.version !== '' && !isNotNewer(this.known.version, version)) {
      if (!isAny && !isWarned) this.known.violations.push(`a list of ${version} after ${this.known.version}`)
      throw new StaleError('the list is older than what is known')
    }
    this.known.replace(items, version)
    this.#isBegun = true
    this.#hasListed = true
  }

  async #watch(isInitial: boolean, signal: AbortSignal): Promise<void> {
    const { wantsBookmarks, timeoutSeconds } = this.habits
    const query: [string, string][] = [['watch', 'true']]
    if (wantsBookmarks || isInitial) query.push(['allowWatchBookmarks', 'true'])
    if (timeoutSeconds !== undefined) query.push(['timeoutSeconds', String(timeoutSeconds)])
    if (isInitial) query.push(['sendInitialEvents', 'true'], ['resourceVersionMatch', 'NotOlderThan'])
    else query.push(['resourceVersion', this.known.version])
    const { response, format } = await this.#ask(query, signal)
    this.counts.streams += 1
    this.known.beginStream()
    const decoder = format.frames()
    const initial = isInitial ? new Map<string, Seen>() : undefined
    try {
      for await (const chunk of response.body as AsyncIterable<Buffer>)
        for (const frame of decoder.push(chunk)) if (!this.#event(format, frame, initial)) return
    } finally {
      response.body.destroy()
    }
  }

  /** False where the stream is of no more use. */
  #event({ walker, encoding }: DocumentFormat, frame: Uint8Array, initial: Map<string, Seen> | undefined): boolean {
    const { type, object } = walker.readEvent(frame)
    if (type === 'ERROR') return this.#failed(encoding === 'json' ? Buffer.from(object).toString('utf8') : 'ERROR')
    const seen = seenFrom(walker.identityOf(object))
    if (type === 'BOOKMARK') {
      this.counts.bookmarks += 1
      const annotations = (walker.read(object, ['metadata', 'annotations']) ?? {}) as Record<string, string>
      if (initial === undefined || this.#isBegun) this.known.bookmark(seen.version)
      else if (annotations['k8s.io/initial-events-end'] === 'true') this.#initialEnded(initial, seen.version)
      return true
    }
    this.counts.events += 1
    if (initial === undefined || this.#isBegun) this.known.apply(type, seen)
    else if (type === 'DELETED') initial.delete(seen.key)
    else initial.set(seen.key, seen)
    return true
  }

  #initialEnded(initial: ReadonlyMap<string, Seen>, version: string): void {
    if (this.known.version !== '' && !isNotNewer(this.known.version, version))
      throw new StaleError('older than what is known')
    this.known.replace([...initial.values()], version)
    this.#isBegun = true
  }

  #failed(text: string): boolean {
    this.counts.gone += 1
    this.lastFailure = text
    this.#isBegun = false
    return false
  }

  async #ask(
    query: [string, string][],
    signal: AbortSignal,
  ): Promise<{ response: TransportResponse; format: DocumentFormat }> {
    const { path, labelSelector, fieldSelector, encoding } = this.habits
    if (labelSelector !== undefined) query.push(['labelSelector', labelSelector])
    if (fieldSelector !== undefined) query.push(['fieldSelector', fieldSelector])
    const response = await this.#client.raw({
      method: 'GET',
      path: `${path}?${formatQuery(query)}`,
      headers: [['accept', accepts[encoding]]],
      signal,
      headersTimeoutMs,
      bodyTimeoutMs: 0,
    })
    const format = documentFormat(response.headers['content-type'] ?? '')
    if (response.status === 200 && format !== undefined) return { response, format }
    const text = (await wholeOf(response)).toString('utf8').slice(0, 300)
    if (response.status === 410) this.#failed(text)
    else if (!passing.has(response.status)) this.known.violations.push(`answered ${response.status}: ${text}`)
    throw new Error(`${response.status}: ${text}`)
  }
}

async function wholeOf({ body }: TransportResponse): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of body as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces)
}
