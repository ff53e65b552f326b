/**
 * Whether the API server can be reached, as a state and never by one answer, without doing anything: what happened goes in, what
 * is to be probed comes out. The caller brings both clocks and dice, tells of the link, and sends the probes.
 *
 *   online   the API server answers
 *   offline  there is no link, or nobody answers behind it
 *   refused  the cluster does not take this node any more; what it keeps must not be served
 *
 * What must stay true: never online without a link; online is reached by a probe alone, so it changes no faster than probes are
 * sent; whoever was refused is not merely offline, whatever becomes of the link, until the one who refused takes the node again;
 * at most one probe is under way.
 */

/** While nothing else shows that the API server answers, it is asked this often. */
export const PROBE_IDLE_MS = 10_000
/** Between the end of a probe and the next, at least: longer than a pool of connections repeats its last failure without a new attempt. */
export const PROBE_GAP_MS = 750
/** While nobody answers behind a link that is up: the longest wait before the next probe at first; it doubles. */
export const PROBE_RETRY_FIRST_MS = 1_000
/** The longest wait before the next probe, however long nobody has answered behind a link that is up: so whoever waits for the API server is served soon after it is back. */
export const PROBE_RETRY_MAX_MS = 10_000
/** Probes in a row that have to say the same before they are believed: one may have met a restart, or a single lost packet. */
export const DECISIVE_PROBES = 2
/** An API server that answers, but calls itself not ready, is starting; one that does so for this long serves in spite of it. */
export const UNREADY_PATIENCE_MS = 30_000
/** Answers within this time of one another say nothing new. */
const EVIDENCE_GRAIN_MS = 1_000

export type ReachName = 'online' | 'offline' | 'refused'

/** Who refused: the hub its session, or the API server the certificate of the node. */
export type Refuser = 'hub' | 'api-server'

export interface ReachState {
  readonly name: ReachName
  readonly refusedBy: Refuser | undefined
  /** What the API server has refused, only the API server can grant, whatever a hub says meanwhile: why, until it does. */
  readonly rejectedWhy: string | undefined
  readonly why: string
  /** Since when it has this name, on the monotonic and on the wall clock. */
  readonly changedMs: number
  readonly sinceMs: number
  readonly isLinkUp: boolean
  /** The probe that is under way. */
  readonly probe: number | undefined
  /** When the next one is due, on the monotonic clock. */
  readonly probeAtMs: number | undefined
  readonly lastProbe: number
  /** When that one began. */
  readonly begunMs: number
  readonly settledProbe: number
  readonly settledMs: number
  /** Something has happened that a probe which is yet to begin has to look into. */
  readonly isDoubted: boolean
  /** Probes in a row that nobody answered. */
  readonly failures: number
  /** Probes in a row that the API server answered with 401. */
  readonly rejections: number
  /** Probes in a row after which none was ready; what the wait until the next depends on. */
  readonly fruitless: number
  readonly unreadySinceMs: number | undefined
  /** When the API server last answered anything. */
  readonly evidenceMs: number
}

/**
 * `ready`: the API server serves. `unready`: it answers that it does not, or not well. `rejected`: it does not take the node's
 * certificate. `failed`: nobody answered. `unknown`: the probe could not be sent, for a limit of ours.
 */
export type ProbeOutcome = 'ready' | 'unready' | 'rejected' | 'failed' | 'unknown'

export interface ProbeResult {
  readonly outcome: ProbeOutcome
  readonly why: string
}

export type ReachInput =
  /** Whether streams can be opened towards the hub, and why the hub will not have this node, if it said so. */
  | { readonly type: 'link'; readonly isUp: boolean; readonly refusal: string | undefined; readonly why: string }
  /** The API server has answered somebody's request, with whatever status. */
  | { readonly type: 'answered' }
  /** Somebody's request got no answer, or the node's own was answered with 401: to be looked into. */
  | { readonly type: 'doubted' }
  | { readonly type: 'probed'; readonly probe: number; readonly result: ProbeResult }
  /** The time of the next probe may have come. */
  | { readonly type: 'tick' }

export type ReachOutput = { readonly type: 'probe' | 'abandon'; readonly probe: number }

export interface ReachStep {
  readonly state: ReachState
  readonly outputs: readonly ReachOutput[]
}

export interface ReachContext {
  /** On the monotonic clock. */
  readonly nowMs: number
  readonly wallMs: number
  /** Draws from [0, 1). */
  readonly random: () => number
}

export interface Refused {
  readonly by: Refuser
  readonly why: string
}

/** Of a process that has just started: nothing is known. One that was refused when it ended still is. */
export function beginReach({ nowMs, wallMs }: Omit<ReachContext, 'random'>, refusedBefore?: Refused): ReachState {
  return {
    name: refusedBefore === undefined ? 'offline' : 'refused',
    refusedBy: refusedBefore?.by,
    rejectedWhy: refusedBefore?.by === 'api-server' ? refusedBefore.why : undefined,
    why: refusedBefore?.why ?? 'the API server has not answered yet',
    changedMs: nowMs,
    sinceMs: wallMs,
    isLinkUp: false,
    probe: undefined,
    probeAtMs: undefined,
    lastProbe: 0,
    begunMs: Number.NEGATIVE_INFINITY,
    settledProbe: 0,
    settledMs: Number.NEGATIVE_INFINITY,
    isDoubted: false,
    failures: 0,
    rejections: 0,
    fruitless: 0,
    unreadySinceMs: undefined,
    evidenceMs: Number.NEGATIVE_INFINITY,
  }
}

export function step(state: ReachState, input: ReachInput, context: ReachContext): ReachStep {
  switch (input.type) {
    case 'link':
      return linkChanged(state, input, context)
    case 'answered':
      return answered(state, context)
    case 'doubted':
      return state.name === 'online' ? probeSoon(state, context) : unchanged(state)
    case 'probed':
      return probed(state, input.probe, input.result, context)
    default:
      return tick(state, context)
  }
}

type LinkInput = Extract<ReachInput, { readonly type: 'link' }>

function linkChanged(state: ReachState, { isUp, refusal, why }: LinkInput, context: ReachContext): ReachStep {
  if (!isUp) return linkLost(state, refusal, why, context)
  if (state.isLinkUp) return unchanged(state)
  const up = { ...state, isLinkUp: true, probeAtMs: context.nowMs }
  const { rejectedWhy } = state
  const next =
    rejectedWhy === undefined
      ? named(up, 'offline', 'the API server has not answered since the link is up', context)
      : refused(up, 'api-server', rejectedWhy, context)
  return tick(next, context)
}

function linkLost(state: ReachState, refusal: string | undefined, why: string, context: ReachContext): ReachStep {
  const outputs: ReachOutput[] = state.probe === undefined ? [] : [{ type: 'abandon', probe: state.probe }]
  const forgotten = { failures: 0, rejections: 0, fruitless: 0, unreadySinceMs: undefined, isDoubted: false }
  const lost = { ...state, ...forgotten, isLinkUp: false, probe: undefined, probeAtMs: undefined }
  // Whatever the API server had said before: what a hub will not have must not stay here.
  if (refusal !== undefined) return { state: refused(lost, 'hub', refusal, context), outputs }
  return { state: state.name === 'refused' ? lost : named(lost, 'offline', why, context), outputs }
}

/**
 * While offline an answer is no more than a reason to ask at once: a server that is starting refuses and misses what it will
 * allow and have a second later, and a replica that went by that would tell its readers so.
 */
function answered(state: ReachState, context: ReachContext): ReachStep {
  const { nowMs } = context
  if (state.name === 'offline') return state.isLinkUp ? probeSoon(state, context) : unchanged(state)
  const isNews = nowMs - state.evidenceMs >= EVIDENCE_GRAIN_MS || state.failures > 0
  return unchanged(isNews ? { ...state, evidenceMs: nowMs, failures: 0 } : state)
}

function probed(before: ReachState, probe: number, result: ProbeResult, context: ReachContext): ReachStep {
  if (probe !== before.probe) return unchanged(before)
  const settled = { ...before, probe: undefined, settledProbe: probe, settledMs: context.nowMs }
  const judged = judge(settled, result, context)
  const probeAtMs = context.nowMs + waitMs(judged, context.random)
  const latestMs = judged.isDoubted ? context.nowMs + PROBE_GAP_MS : Number.POSITIVE_INFINITY
  return unchanged({ ...judged, probeAtMs: Math.min(probeAtMs, latestMs) })
}

function judge(state: ReachState, { outcome, why }: ProbeResult, context: ReachContext): ReachState {
  const { nowMs } = context
  const fruitless = state.fruitless + 1
  switch (outcome) {
    case 'ready':
      return ready(state, why, context)
    case 'unready': {
      // Given before the certificate was looked at, maybe: it takes nothing back.
      if (state.name === 'refused') return { ...state, fruitless, failures: 0 }
      const unreadySinceMs = state.unreadySinceMs ?? nowMs
      const waiting = { ...state, fruitless, failures: 0, rejections: 0, evidenceMs: nowMs, unreadySinceMs }
      const isServing = state.name === 'online' || nowMs - unreadySinceMs >= UNREADY_PATIENCE_MS
      return isServing ? ready(waiting, why, context) : named(waiting, 'offline', why, context)
    }
    case 'rejected': {
      const rejections = state.rejections + 1
      const counted = { ...state, fruitless, failures: 0, rejections, evidenceMs: nowMs, unreadySinceMs: undefined }
      if (rejections < DECISIVE_PROBES) return counted
      return refused({ ...counted, rejectedWhy: why }, 'api-server', why, context)
    }
    case 'failed': {
      const failures = state.failures + 1
      const counted = { ...state, fruitless, failures, unreadySinceMs: undefined }
      if (state.name === 'refused' || (state.name === 'online' && failures < DECISIVE_PROBES)) return counted
      return named(counted, 'offline', why, context)
    }
    default:
      return { ...state, fruitless }
  }
}

function ready(state: ReachState, why: string, context: ReachContext): ReachState {
  const { nowMs: evidenceMs } = context
  const shown = { rejectedWhy: undefined, failures: 0, rejections: 0, fruitless: 0, unreadySinceMs: undefined }
  return named({ ...state, ...shown, evidenceMs }, 'online', why, context)
}

/** While online a probe that was not answered well is followed by another, to be sure either way. */
function waitMs({ name, failures, rejections, fruitless }: ReachState, random: () => number): number {
  if (name === 'online') {
    if (failures > 0 || rejections > 0) return PROBE_GAP_MS
    return Math.round(PROBE_IDLE_MS * (0.9 + 0.1 * random()))
  }
  const longestMs = Math.min(PROBE_RETRY_MAX_MS, PROBE_RETRY_FIRST_MS * 2 ** Math.min(Math.max(0, fruitless - 1), 20))
  return Math.max(PROBE_GAP_MS, Math.round(longestMs * (0.5 + 0.5 * random())))
}

function probeSoon(state: ReachState, context: ReachContext): ReachStep {
  const doubted = state.isDoubted ? state : { ...state, isDoubted: true }
  if (state.probe !== undefined) return unchanged(doubted)
  const soonMs = Math.max(context.nowMs, state.settledMs + PROBE_GAP_MS)
  return tick({ ...doubted, probeAtMs: Math.min(state.probeAtMs ?? soonMs, soonMs) }, context)
}

function tick(state: ReachState, { nowMs }: ReachContext): ReachStep {
  const { probe, probeAtMs, isLinkUp } = state
  if (!isLinkUp || probe !== undefined || probeAtMs === undefined || probeAtMs > nowMs) return unchanged(state)
  if (isShownByOthers(state, nowMs)) return unchanged({ ...state, probeAtMs: state.evidenceMs + PROBE_IDLE_MS })
  const next = state.lastProbe + 1
  const begun = { ...state, probe: next, lastProbe: next, begunMs: nowMs, probeAtMs: undefined, isDoubted: false }
  return { state: begun, outputs: [{ type: 'probe', probe: next }] }
}

/** Whether answers to others have shown what the next probe is to show. They say nothing of the node's own certificate. */
function isShownByOthers({ name, isDoubted, rejections, evidenceMs, settledMs }: ReachState, nowMs: number): boolean {
  if (name !== 'online' || isDoubted || rejections > 0) return false
  return evidenceMs > settledMs && nowMs - evidenceMs < PROBE_IDLE_MS
}

function refused(state: ReachState, refusedBy: Refuser, why: string, context: ReachContext): ReachState {
  return { ...named(state, 'refused', why, context), refusedBy }
}

function named(state: ReachState, name: ReachName, why: string, { nowMs, wallMs }: ReachContext): ReachState {
  const since = state.name === name ? {} : { changedMs: nowMs, sinceMs: wallMs }
  return { ...state, ...since, name, why, refusedBy: name === 'refused' ? state.refusedBy : undefined }
}

function unchanged(state: ReachState): ReachStep {
  return { state, outputs: [] }
}
