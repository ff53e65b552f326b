/**
 * What a link to one hub does when, without doing it: states, what happens, and what is to be done about it. The caller brings
 * time and dice, dials, and drives the sessions. A session keeps the number of the attempt that made it.
 *
 *   connecting    no session serves; an attempt is under way
 *   up            a session serves
 *   handing-over  a session is still there, and its successor is wanted or being made
 *   draining      the edge is stopping; what is under way may end
 *   down          no session serves; the next attempt has its time
 *
 * What must stay true: a session is drained only once its successor has answered, and beside the one that serves at most one
 * is draining.
 */

/** The longest wait before the first new attempt; it doubles with each failure. Waits are drawn from nothing to the longest. */
export const RECONNECT_FIRST_MS = 1_000
/** A hub that was away for long has its edges back within this time, and is not overrun when it returns. */
export const RECONNECT_MAX_MS = 30_000
/** A hub that will not have this edge is left in peace for this long: only a person, or a new certificate, changes its mind. */
export const REFUSED_RETRY_MIN_MS = 60_000
/** The longest that a hub which will not have this edge is left in peace, so that it is back within minutes after the person has acted. */
export const REFUSED_RETRY_MAX_MS = 300_000
/** A hub may ask for patience up to this; what is more is taken for a mistake. */
export const MAX_RETRY_AFTER_MS = 300_000
/** A session that lived this long was no failure, whatever ended it. */
export const STABLE_SESSION_MS = 30_000

export type LinkPhase = 'connecting' | 'up' | 'handing-over' | 'draining' | 'down'

export interface LinkFailure {
  readonly code: string
  readonly message: string
  /** The hub knows who we are and says no. */
  readonly isFinal: boolean
  readonly retryAfterMs: number | undefined
}

interface ServingSession {
  readonly id: number
  readonly upMs: number
  /** Takes no new streams, or is not to be given any. */
  readonly isLeaving: boolean
}

export interface LinkState {
  readonly serving: ServingSession | undefined
  readonly draining: number | undefined
  readonly attempt: number | undefined
  /** When the next attempt is due, on the monotonic clock. */
  readonly attemptAtMs: number | undefined
  readonly lastId: number
  /** Attempts that failed in a row. */
  readonly failures: number
  /** What went wrong last, kept after it is over. */
  readonly failure: LinkFailure | undefined
  /** When it went wrong last. */
  readonly failedMs: number | undefined
  /** The last attempt ended with a final no. */
  readonly isRefused: boolean
  /** Since when new streams can be opened, or cannot. */
  readonly changedMs: number
  readonly isStopping: boolean
}

export type LinkInput =
  /** The time of the next attempt may have come. */
  | { readonly type: 'tick' }
  /** The session of that attempt is up and has answered. */
  | { readonly type: 'dialled'; readonly attempt: number }
  | { readonly type: 'failed'; readonly attempt: number; readonly failure: LinkFailure }
  | { readonly type: 'ended'; readonly session: number; readonly failure: LinkFailure }
  /** The hub takes no new streams on that session. */
  | { readonly type: 'go-away'; readonly session: number }
  /** Asked for a sign of life, that session gave none. */
  | { readonly type: 'silent'; readonly session: number }
  /** A session under the present certificate, or from the present address, is wanted in place of the one there is. */
  | { readonly type: 'rotated' | 'address-changed' }
  /** Time has passed that nobody saw: the machine slept, the process was stopped, the clock was set. */
  | { readonly type: 'resumed' }
  | { readonly type: 'stop' }

export type LinkOutput =
  | { readonly type: 'dial' | 'abandon'; readonly attempt: number }
  | { readonly type: 'drain' | 'close' | 'probe'; readonly session: number }

export interface LinkStep {
  readonly state: LinkState
  readonly outputs: readonly LinkOutput[]
}

export interface LinkContext {
  readonly nowMs: number
  /** Draws from [0, 1). */
  readonly random: () => number
}

/** A link that was just made; its first attempt is due at once. */
export function beginLink(nowMs: number): LinkState {
  return {
    serving: undefined,
    draining: undefined,
    attempt: undefined,
    attemptAtMs: nowMs,
    lastId: 0,
    failures: 0,
    failure: undefined,
    failedMs: undefined,
    isRefused: false,
    changedMs: nowMs,
    isStopping: false,
  }
}

export function phaseOf({ isStopping, serving, attempt, attemptAtMs }: LinkState): LinkPhase {
  if (isStopping) return 'draining'
  const isWanted = attempt !== undefined || attemptAtMs !== undefined
  if (serving !== undefined) return isWanted ? 'handing-over' : 'up'
  return attempt === undefined ? 'down' : 'connecting'
}

/** New streams can be opened. */
export function isOpen({ serving, isStopping }: LinkState): boolean {
  return serving !== undefined && !serving.isLeaving && !isStopping
}

export function step(state: LinkState, input: LinkInput, context: LinkContext): LinkStep {
  if (state.isStopping) return whileStopping(state, input)
  switch (input.type) {
    case 'tick':
      return tick(state, context)
    case 'dialled':
      return dialled(state, input.attempt, context)
    case 'failed':
      return failed(state, input.attempt, input.failure, context)
    case 'ended':
      return ended(state, input.session, input.failure, context)
    case 'go-away':
    case 'silent':
      return leaving(state, input.session, context)
    case 'rotated':
    case 'address-changed':
      return dialNow(state)
    case 'resumed':
      return resumed(state)
    default:
      return stop(state)
  }
}

function tick(state: LinkState, { nowMs }: LinkContext): LinkStep {
  const isDue = state.attemptAtMs !== undefined && state.attemptAtMs <= nowMs
  return isDue && state.attempt === undefined ? dialNow(state) : unchanged(state)
}

/** Starts an attempt; one that is under way was begun under circumstances that no longer hold. */
function dialNow(state: LinkState): LinkStep {
  const attempt = state.lastId + 1
  const outputs: LinkOutput[] = []
  if (state.attempt !== undefined) outputs.push({ type: 'abandon', attempt: state.attempt })
  outputs.push({ type: 'dial', attempt })
  return { state: { ...state, attempt, attemptAtMs: undefined, lastId: attempt }, outputs }
}

function dialled(state: LinkState, attempt: number, { nowMs }: LinkContext): LinkStep {
  if (attempt !== state.attempt) return { state, outputs: [{ type: 'close', session: attempt }] }
  const outputs: LinkOutput[] = []
  const { serving: previous } = state
  let { draining } = state
  if (previous !== undefined) {
    if (draining !== undefined) outputs.push({ type: 'close', session: draining })
    outputs.push({ type: 'drain', session: previous.id })
    draining = previous.id
  }
  const serving = { id: attempt, upMs: nowMs, isLeaving: false }
  const changedMs = isOpen(state) ? state.changedMs : nowMs
  const settled = { attempt: undefined, attemptAtMs: undefined, isRefused: false }
  return { state: { ...state, ...settled, serving, draining, changedMs }, outputs }
}

function failed(state: LinkState, attempt: number, failure: LinkFailure, context: LinkContext): LinkStep {
  if (attempt !== state.attempt) return unchanged(state)
  const attemptAtMs = context.nowMs + retryDelayMs(state.failures, failure, context.random)
  const failures = state.failures + 1
  const { isFinal: isRefused } = failure
  const { nowMs: failedMs } = context
  return { state: { ...state, attempt: undefined, attemptAtMs, failures, failure, failedMs, isRefused }, outputs: [] }
}

function ended(state: LinkState, session: number, failure: LinkFailure, context: LinkContext): LinkStep {
  if (session === state.draining) return unchanged({ ...state, draining: undefined })
  if (session !== state.serving?.id) return unchanged(state)
  const { nowMs: failedMs } = context
  const changedMs = isOpen(state) ? failedMs : state.changedMs
  return unchanged({ ...retrySoon(state, state.serving, context), serving: undefined, failure, failedMs, changedMs })
}

function leaving(state: LinkState, session: number, context: LinkContext): LinkStep {
  const { serving } = state
  if (serving === undefined || serving.id !== session || serving.isLeaving) return unchanged(state)
  const left = { serving: { ...serving, isLeaving: true }, changedMs: context.nowMs }
  return unchanged({ ...retrySoon(state, serving, context), ...left })
}

/**
 * Spread out, because what ends one session of a hub often ends them all. A hub that ends every session at once is a failing
 * one.
 */
function retrySoon(state: LinkState, serving: ServingSession, { nowMs, random }: LinkContext): LinkState {
  const failures = nowMs - serving.upMs >= STABLE_SESSION_MS ? 0 : state.failures + 1
  if (state.attempt !== undefined) return { ...state, failures }
  const atMs = nowMs + drawMs(Math.max(0, failures - 1), random)
  return { ...state, failures, attemptAtMs: Math.min(state.attemptAtMs ?? atMs, atMs) }
}

/** Whatever was waited for may be long over: a session has to prove that it lives, and an attempt is made afresh. */
function resumed(state: LinkState): LinkStep {
  const { serving } = state
  if (serving !== undefined && state.attempt === undefined && state.attemptAtMs === undefined) {
    return { state, outputs: [{ type: 'probe', session: serving.id }] }
  }
  return dialNow({ ...state, failures: 0 })
}

function stop(state: LinkState): LinkStep {
  const outputs: LinkOutput[] = []
  if (state.attempt !== undefined) outputs.push({ type: 'abandon', attempt: state.attempt })
  if (state.serving !== undefined) outputs.push({ type: 'drain', session: state.serving.id })
  return { state: { ...state, attempt: undefined, attemptAtMs: undefined, isStopping: true }, outputs }
}

function whileStopping(state: LinkState, input: LinkInput): LinkStep {
  if (input.type === 'dialled') return { state, outputs: [{ type: 'close', session: input.attempt }] }
  if (input.type !== 'ended') return unchanged(state)
  if (input.session === state.draining) return unchanged({ ...state, draining: undefined })
  return unchanged(input.session === state.serving?.id ? { ...state, serving: undefined } : state)
}

function retryDelayMs(failures: number, { isFinal, retryAfterMs = 0 }: LinkFailure, random: () => number): number {
  const patienceMs = Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)
  if (!isFinal) return patienceMs + drawMs(failures, random)
  const drawnMs = REFUSED_RETRY_MIN_MS + Math.ceil(random() * (REFUSED_RETRY_MAX_MS - REFUSED_RETRY_MIN_MS))
  return Math.max(patienceMs, drawnMs)
}

function drawMs(failures: number, random: () => number): number {
  const longestMs = Math.min(RECONNECT_MAX_MS, RECONNECT_FIRST_MS * 2 ** Math.min(failures, 20))
  return Math.ceil(random() * longestMs)
}

function unchanged(state: LinkState): LinkStep {
  return { state, outputs: [] }
}
