/**
 * The reflector as a pure state machine: what happened goes in, what to do next comes out. No clock, no socket, no
 * promise; the shell around it (reflector.ts) carries out.
 *
 *   phase       goes to      when
 *   streaming   watching     the end of the initial events is announced
 *               listing      the server refuses, ignores the question, or the stream breaks again and again
 *               streaming    broken
 *   listing     watching     the last page has come
 *               listing      broken: the same page again; pages expired: everything in one piece
 *               streaming    gone, refused, unreadable
 *   watching    watching     the server ended it: again from the last version seen
 *               probing      broken
 *               streaming    gone, refused, unreadable
 *   probing     watching     the server knows our version
 *               probing      broken
 *               streaming    the server is behind us: it was set back while we were away; unreadable
 *
 * It starts streaming, or probing if it has a view already. A failure is followed by a wait, except from streaming to
 * listing; a longer one if what came was unreadable, and never a watch from the same version, since the history keeps
 * the bad object when the collection has lost it. The probe exists because a server meets a watch from its own future with silence. What must stay true:
 * - A snapshot replaces the view as a whole, when its last object has arrived and not before.
 * - `#version` is a version at which the view is complete, so a watch from there misses nothing.
 * - An event that is not newer than `#version` has been seen, so nothing is delivered twice.
 */

import { Backoff, UNREADABLE_BACKOFF } from '../../runtime/backoff.ts'
import { systemRandom } from '../../runtime/random.ts'
import type { ListQuery, WatchQuery } from '../client/options.ts'
import type { KubeList, Versioned, WatchEvent } from '../objects.ts'
import { problemWithEvent, problemWithPage } from './checks.ts'
import { classify, type Failure } from './failure.ts'
import type { Action, Input, Step } from './protocol.ts'
import { isNotNewer } from './versions.ts'
import { type Change, keyOf, View } from './view.ts'

/** What kubectl and client-go ask for. */
const SNAPSHOT_PAGE_SIZE = 500
/** The server ends a watch after a random time between these, which spreads reconnects over time and over servers. */
const MIN_WATCH_SECONDS = 300
const MAX_WATCH_SECONDS = 600
/** A server that ignores `sendInitialEvents` stays silent for ever; one that honours it is not silent for this long. */
export const MAX_INITIAL_SILENCE_MS = 30_000
/** After so many broken streams in a row the snapshot is fetched in pages, which get through a bad link better. */
export const MAX_STREAM_FAILURES = 3
/** A watch that ends sooner than this and brought nothing counts as a failure, or we would spin. */
export const MIN_WATCH_LIFE_MS = 1_000

const initialEventsEnd = 'k8s.io/initial-events-end'
const keepReading = { changes: [], next: { do: 'read' } } as const

type Phase<T extends Versioned> =
  /** Collecting the initial events of a watch: the latest event of each object. */
  | { readonly name: 'streaming'; readonly initial: Map<string, WatchEvent<T>> }
  /** Collecting the pages of a list; `query` asks for the next one. */
  | { readonly name: 'listing'; readonly items: T[]; readonly query: ListQuery }
  /** Asking whether the server knows our version. */
  | { readonly name: 'probing' }
  | { readonly name: 'watching'; readonly sinceMs: number; readonly fromVersion: string }
  | { readonly name: 'waiting'; readonly proceed: () => Action }

export interface ReflectorCoreOptions<T extends Versioned> {
  readonly selection?: Pick<ListQuery, 'labelSelector' | 'fieldSelector'>
  /** Draws from [0, 1). */
  readonly random?: () => number
  /** False for a server whose versions must not be compared; see versions.ts. */
  readonly comparableVersions?: boolean
  /** A complete view from an earlier life: the first thing is then a watch from its version, not a snapshot. */
  readonly restored?: { readonly objects: readonly T[]; readonly resourceVersion: string } | undefined
}

export class ReflectorCore<T extends Versioned> {
  readonly #view = new View<T>()
  readonly #selection: Pick<ListQuery, 'labelSelector' | 'fieldSelector'>
  readonly #random: () => number
  readonly #backoff: Backoff
  readonly #unreadableBackoff: Backoff
  readonly #isNotNewer: (version: string, known: string) => boolean
  #phase: Phase<T> = { name: 'waiting', proceed: () => this.#stream() }
  #version = ''
  #streamFailures = 0

  constructor(options: ReflectorCoreOptions<T> = {}) {
    this.#selection = options.selection ?? {}
    this.#random = options.random ?? systemRandom.fraction
    this.#backoff = new Backoff(this.#random)
    this.#unreadableBackoff = new Backoff(this.#random, UNREADABLE_BACKOFF)
    this.#isNotNewer = options.comparableVersions === false ? (version, known) => version === known : isNotNewer
    if (options.restored === undefined) return
    this.#view.replace(options.restored.objects)
    this.#version = options.restored.resourceVersion
  }

  get objects(): ReadonlyMap<string, T> {
    return this.#view.objects
  }

  /** The version at which the view is complete; empty before the first snapshot. */
  get version(): string {
    return this.#version
  }

  /** How long the open watch may be silent. */
  get patienceMs(): number | undefined {
    return this.#phase.name === 'streaming' ? MAX_INITIAL_SILENCE_MS : undefined
  }

  /** Also after a stop: it goes on from where it stood. */
  start(): Step<T> {
    return { changes: [], next: this.#version === '' ? this.#stream() : this.#probe() }
  }

  /** These objects and no others were there at this version, as somebody else was told. Returns what differs. */
  adopt(objects: readonly T[], resourceVersion: string): Change<T>[] {
    this.#version = resourceVersion
    return this.#view.replace(objects)
  }

  handle(input: Input<T>, nowMs: number): Step<T> {
    const phase = this.#phase
    const checked = check(input)
    if (phase.name === 'streaming') return this.#whileStreaming(phase.initial, checked, nowMs)
    if (phase.name === 'listing') return this.#whileListing(phase, checked, nowMs)
    if (phase.name === 'probing') return this.#whileProbing(checked, nowMs)
    if (phase.name === 'watching') return this.#whileWatching(phase, checked, nowMs)
    return { changes: [], next: phase.proceed() }
  }

  #whileStreaming(initial: Map<string, WatchEvent<T>>, input: Input<T>, nowMs: number): Step<T> {
    if (input.type === 'event') return this.#collect(initial, input.event, nowMs)
    const failure = failureOf(input)
    // Not for this server: its list will do, and at once.
    if (input.type === 'silent' || failure.kind === 'refused') return { changes: [], failure, next: this.#list() }
    this.#streamFailures++
    return this.#retry(failure, nowMs, () =>
      this.#streamFailures < MAX_STREAM_FAILURES ? this.#stream() : this.#list(),
    )
  }

  #whileListing(phase: Phase<T> & { name: 'listing' }, input: Input<T>, nowMs: number): Step<T> {
    if (input.type === 'page') return this.#addPage(phase.items, input.list, nowMs)
    const failure = failureOf(input)
    if (failure.kind === 'transient') return this.#retry(failure, nowMs, () => this.#listOn(phase.items, phase.query))
    // The server forgot the snapshot that the pages came from. A list in one piece has no pages to lose.
    const expired = failure.kind === 'gone' && phase.query.continue !== undefined
    return this.#retry(failure, nowMs, () => (expired ? this.#listOn([], this.#selection) : this.#stream()))
  }

  #whileProbing(input: Input<T>, nowMs: number): Step<T> {
    const failure = input.type === 'page' ? undefined : failureOf(input)
    if (failure?.kind === 'gone' || failure?.kind === 'unreadable') {
      return this.#retry(failure, nowMs, () => this.#stream())
    }
    if (failure?.kind === 'transient') return this.#retry(failure, nowMs, () => this.#probe())
    // Known, or not ours to ask: who may watch need not be allowed to list.
    return { changes: [], next: this.#watch(nowMs) }
  }

  #whileWatching(phase: Phase<T> & { name: 'watching' }, input: Input<T>, nowMs: number): Step<T> {
    if (input.type === 'event') return this.#follow(input.event)
    const worthwhile = nowMs - phase.sinceMs >= MIN_WATCH_LIFE_MS || this.#version !== phase.fromVersion
    if (input.type === 'ended' && worthwhile) return { changes: [], next: this.#watch(nowMs) }
    const failure = failureOf(input)
    return this.#retry(failure, nowMs, () => (failure.kind === 'transient' ? this.#probe() : this.#stream()))
  }

  #collect(initial: Map<string, WatchEvent<T>>, event: WatchEvent<T>, nowMs: number): Step<T> {
    if (event.type === 'BOOKMARK') return this.#maybeEndInitial(initial, event.object, nowMs)
    const key = keyOf(event.object)
    const earlier = initial.get(key)
    if (earlier === undefined || !this.#isStale(event, versionOf(earlier.object))) initial.set(key, event)
    return keepReading
  }

  /** Any other bookmark says nothing about a snapshot that is still incomplete. */
  #maybeEndInitial(initial: Map<string, WatchEvent<T>>, bookmark: T, nowMs: number): Step<T> {
    if (bookmark.metadata?.annotations?.[initialEventsEnd] !== 'true') return keepReading
    const present = [...initial.values()].filter(({ type }) => type !== 'DELETED').map(({ object }) => object)
    const done = this.#completeSnapshot(present, versionOf(bookmark))
    this.#enterWatching(nowMs)
    return { ...done, next: { do: 'read' } }
  }

  #addPage(items: T[], list: KubeList<T>, nowMs: number): Step<T> {
    for (const item of list.items) items.push(item)
    const { continue: token, resourceVersion = '' } = list.metadata
    if (token) {
      const query = { ...this.#selection, limit: SNAPSHOT_PAGE_SIZE, continue: token }
      return { changes: [], next: this.#listOn(items, query) }
    }
    const done = this.#completeSnapshot(items, resourceVersion)
    return { ...done, next: this.#watch(nowMs) }
  }

  #follow(event: WatchEvent<T>): Step<T> {
    const changes = this.#changesBy(event)
    const version = versionOf(event.object)
    if (!this.#isNotNewer(version, this.#version)) this.#version = version
    return changes.length === 0 ? keepReading : { changes, next: { do: 'read' } }
  }

  #changesBy(event: WatchEvent<T>): Change<T>[] {
    if (event.type === 'BOOKMARK') return []
    if (event.type !== 'DELETED') return this.#isStale(event, this.#version) ? [] : this.#view.put(event.object)
    const known = this.#view.objects.get(keyOf(event.object))
    return known === undefined || this.#isStale(event, versionOf(known)) ? [] : this.#view.remove(event.object)
  }

  /** A deletion may come under the very version of the state that it ends. */
  #isStale(event: WatchEvent<T>, known: string): boolean {
    const version = versionOf(event.object)
    return this.#isNotNewer(version, known) && !(event.type === 'DELETED' && version === known)
  }

  #completeSnapshot(objects: readonly T[], version: string): Omit<Step<T>, 'next'> {
    this.#streamFailures = 0
    this.#version = version
    return { changes: this.#view.replace(objects), synced: true }
  }

  #retry(failure: Failure, nowMs: number, proceed: () => Action): Step<T> {
    this.#phase = { name: 'waiting', proceed }
    const backoff = failure.kind === 'unreadable' ? this.#unreadableBackoff : this.#backoff
    return { changes: [], failure, next: { do: 'wait', delayMs: backoff.next(nowMs, failure.retryAfterMs) } }
  }

  /** A snapshot by events. Without a version the server gives its most recent state, so the view never goes back in time. */
  #stream(): Action {
    this.#phase = { name: 'streaming', initial: new Map() }
    const initial = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } as const
    return { do: 'watch', query: { ...this.#watchQuery(), ...initial } }
  }

  /** A snapshot in pages, for servers that do not stream one. */
  #list(): Action {
    return this.#listOn([], { ...this.#selection, limit: SNAPSHOT_PAGE_SIZE })
  }

  #listOn(items: T[], query: ListQuery): Action {
    this.#phase = { name: 'listing', items, query }
    return { do: 'list', query }
  }

  /** The smallest list that fails when the server is behind us. */
  #probe(): Action {
    this.#phase = { name: 'probing' }
    const notOlder = { resourceVersion: this.#version, resourceVersionMatch: 'NotOlderThan' } as const
    return { do: 'list', query: { ...this.#selection, ...notOlder, limit: 1 } }
  }

  #watch(nowMs: number): Action {
    this.#enterWatching(nowMs)
    return { do: 'watch', query: { ...this.#watchQuery(), resourceVersion: this.#version } }
  }

  #enterWatching(nowMs: number): void {
    this.#phase = { name: 'watching', sinceMs: nowMs, fromVersion: this.#version }
  }

  #watchQuery(): WatchQuery {
    const timeoutSeconds = Math.floor(MIN_WATCH_SECONDS + this.#random() * (MAX_WATCH_SECONDS - MIN_WATCH_SECONDS))
    return { ...this.#selection, allowWatchBookmarks: true, timeoutSeconds }
  }
}

/** Events and pages that cannot be used are failures, whatever the phase. */
function check<T extends Versioned>(input: Input<T>): Input<T> {
  let error: Error | undefined
  if (input.type === 'event') error = problemWithEvent(input.event)
  if (input.type === 'page') error = problemWithPage(input.list)
  return error === undefined ? input : { type: 'failed', error }
}

function failureOf<T extends Versioned>(input: Input<T>): Failure {
  return classify(input.type === 'failed' ? input.error : new Error(`the watch ${input.type} too early`))
}

function versionOf({ metadata }: Versioned): string {
  return metadata?.resourceVersion ?? ''
}
