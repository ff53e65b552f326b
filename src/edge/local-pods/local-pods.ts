/**
 * The pods of this node of which the kubelet has said what the API server could not be told. What must stay true:
 * - Only what differs from the API server's last word is here.
 * - Offline it stays. Once the API server can be reached it goes as soon as the API server says the same of the pod, and at the
 *   latest after `MAX_ONLINE_MS`, whatever the API server says.
 */
import { isDeepStrictEqual } from 'node:util'
import { callAll } from '../../runtime/call-all.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isSameTruth, type LocalPod } from './local-pod.ts'

/** Several times what a node runs; beyond, those told of longest ago are shown as the API server has them. */
export const MAX_LOCAL_PODS = 1_024
/** A kubelet tells again every ten seconds what it could not; one that has not by then is not going to. */
export const MAX_ONLINE_MS = 60_000
/** EndpointSlices are written after the Pod is: so long after the two agree clients keep what they have. */
export const AGREED_LINGER_MS = 5_000
/** How often the API server's word is compared while it can be reached. */
export const COMPARE_MS = 1_000

export interface LocalPodsOptions {
  /** Different for each run of the process, so that revisions of two runs never look alike. */
  readonly run: string
  /** The pod as the API server last showed it here. */
  readonly upstreamOf: (pod: LocalPod) => LocalPod | undefined
  readonly clock: Clock
}

interface Entry {
  readonly pod: LocalPod
  /** Since when, on the monotonic clock, the API server has said the same. */
  readonly agreedMs: number | undefined
}

type ChangeListener = (uids: ReadonlySet<string>) => void

export class LocalPods {
  readonly #options: LocalPodsOptions
  /** By uid. Those told of last stand last. */
  readonly #entries = new Map<string, Entry>()
  readonly #listeners = new Set<ChangeListener>()
  #changes = 0
  /** Undefined while the API server cannot be reached. */
  #onlineMs: number | undefined
  #cancelCompare = (): void => {}

  constructor(options: LocalPodsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#entries.size
  }

  /** Empty until there is a first pod; never the same again after a change. */
  get revision(): string {
    return this.#changes === 0 ? '' : `${this.#options.run}.${this.#changes}`
  }

  of(uid: string): LocalPod | undefined {
    return this.#entries.get(uid)?.pod
  }

  /** Hears of which pods something else is to be shown. Returns what ends it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The kubelet has said this of a pod, and the API server could not be told. */
  tell(pod: LocalPod): void {
    const before = this.of(pod.uid)
    const upstream = this.#options.upstreamOf(pod)
    this.#entries.delete(pod.uid)
    if (upstream === undefined || !isSameTruth(upstream, pod)) this.#put(pod, undefined)
    const changed = new Set(isDeepStrictEqual(before, this.of(pod.uid)) ? [] : [pod.uid])
    this.#trim(changed)
    this.#scheduleCompare()
    this.#changed(changed)
  }

  /** The API server was told, and this is how it has the pod now; of no concern where nothing else is shown of it. */
  agreed(pod: LocalPod): void {
    const before = this.of(pod.uid)
    if (before === undefined) return
    this.#put(pod, this.#options.clock.monotonicMs())
    if (!isDeepStrictEqual(before, pod)) this.#changed(new Set([pod.uid]))
  }

  setOnline(isOnline: boolean): void {
    if (isOnline === (this.#onlineMs !== undefined)) return
    this.#onlineMs = isOnline ? this.#options.clock.monotonicMs() : undefined
    this.#scheduleCompare()
    // Whoever was about to agree may not have told the controllers any more.
    if (!isOnline) for (const { pod } of this.#entries.values()) this.#put(pod, undefined)
  }

  /** For good; nobody hears of it. */
  close(): void {
    this.#cancelCompare()
    this.#listeners.clear()
    this.#entries.clear()
  }

  /** Only while there is something to compare, and somebody to compare it with. */
  #scheduleCompare(): void {
    this.#cancelCompare()
    const onlineMs = this.#onlineMs
    if (onlineMs === undefined || this.#entries.size === 0) return
    this.#cancelCompare = this.#options.clock.schedule(COMPARE_MS, () => this.#compare(onlineMs))
  }

  #compare(onlineMs: number): void {
    const nowMs = this.#options.clock.monotonicMs()
    const lapsed = new Set<string>()
    for (const [uid, { pod, agreedMs }] of this.#entries) {
      const upstream = agreedMs === undefined ? this.#options.upstreamOf(pod) : undefined
      const isSettled = agreedMs !== undefined && nowMs - agreedMs >= AGREED_LINGER_MS
      if (isSettled || nowMs - onlineMs >= MAX_ONLINE_MS) {
        this.#entries.delete(uid)
        lapsed.add(uid)
      } else if (upstream !== undefined && isSameTruth(upstream, pod)) this.#put(pod, nowMs)
    }
    this.#scheduleCompare()
    this.#changed(lapsed)
  }

  #put(pod: LocalPod, agreedMs: number | undefined): void {
    this.#entries.set(pod.uid, { pod, agreedMs })
  }

  #trim(changed: Set<string>): void {
    for (const uid of this.#entries.keys()) {
      if (this.#entries.size <= MAX_LOCAL_PODS) return
      this.#entries.delete(uid)
      changed.add(uid)
    }
  }

  #changed(uids: ReadonlySet<string>): void {
    if (uids.size === 0) return
    this.#changes += 1
    callAll([...this.#listeners].map((listener) => () => listener(uids)))
  }
}
