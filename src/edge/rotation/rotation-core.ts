/**
 * When to do what with a certificate, without doing it: states, and what becomes of them. The caller brings time and dice.
 *
 *   presenting     it is to be shown to the hub once, so that the hub knows it has arrived
 *   waiting        all is well until the moment drawn for its renewal; it is shown again now and then, to hear of changes
 *   renewing       its renewal is under way, and is tried again until it succeeds
 *   rejoin-needed  the hub will not have it any more; only a person can help, so the hub is asked again only now and then,
 *                  in case the fault was the hub's
 */
import type { Validity } from '../../identity/certificate.ts'
import { drawRotationMs, isTimelyRotation } from '../../identity/rotation.ts'
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import type { HubNetworkCode, HubTlsCode } from '../hub/hub-error.ts'

/** The longest wait after the first failure; it doubles with each further one. */
export const ROTATION_RETRY_FIRST_MS = 1_000
/** The longest wait after any failure: a tenth of the life of even a short certificate holds many of them. */
export const ROTATION_RETRY_MAX_MS = 300_000
/** A hub that was restored, or whose clock was set, takes its edges back within this time, and is left in peace until then. */
export const REJOIN_RECHECK_MS = 900_000

/** A CA that is being replaced, and a name that was taken back, are known to every edge within a quarter of a day or so. */
export const CHECK_IN_INTERVAL_MS = 6 * 60 * 60 * 1000
/** Somebody else on this machine was told that the certificate does not count: what the hub says to us about it shows soon. */
export const DOUBTED_CHECK_IN_MS = 60_000
/** Edges that hear of a new CA renew within this time, each at another moment, so that a hub can follow. */
export const NEW_CA_RENEWAL_SPREAD_MS = 600_000
/** While hubs do not agree which CA signs, a certificate that was just renewed would be renewed in a circle. */
export const MIN_AGE_FOR_NEW_CA_MS = 60 * 60 * 1000
/** A hub that cannot be shown to be the hub is a passing mischief on the way for so long; then a person should know. */
export const UNTRUSTED_HUB_TOLERATED_MS = 600_000

export interface RotationState {
  readonly phase: 'presenting' | 'waiting' | 'renewing' | 'rejoin-needed'
  /** The moment drawn for the present certificate. */
  readonly rotateAtMs: number
  /** Not before this, whatever there is to do. */
  readonly attemptAtMs: number
  /** Attempts that failed in a row. */
  readonly failures: number
  /** While waiting: when to show the certificate again. */
  readonly presentAtMs?: number
  /** Since when whoever answers is not, or cannot be shown to be, the hub. */
  readonly untrustedSinceMs?: number | undefined
  /** The last failure, until the next success. */
  readonly message?: string
}

export type RotationAction = 'present' | 'renew'

export interface DatedCertificate extends Validity {
  readonly fingerprint: string
}

export interface RotationFailure {
  /** The hub's code, or anything for a failure that is not the hub's. */
  readonly code: string
  readonly message: string
  readonly retryAfterMs?: number | undefined
}

/** `certificate` as found at the start; none yet means that the first one is to be had. */
export function beginRotation(
  certificate: DatedCertificate | undefined,
  remembered: { readonly fingerprint: string; readonly atMs: number } | undefined,
  nowMs: number,
  random: () => number,
): RotationState {
  if (certificate === undefined) return { phase: 'renewing', rotateAtMs: nowMs, attemptAtMs: nowMs, failures: 0 }
  const isRemembered =
    remembered?.fingerprint === certificate.fingerprint && isTimelyRotation(remembered.atMs, certificate)
  const rotateAtMs = isRemembered ? remembered.atMs : drawRotation(certificate, nowMs, random)
  return { phase: 'presenting', rotateAtMs, attemptAtMs: nowMs, failures: 0 }
}

export interface NextAction {
  readonly action: RotationAction
  readonly atMs: number
}

/** `isDoubted`: somebody else was told that the certificate does not count. */
export function nextAction(state: RotationState, nowMs: number, isDoubted = false): NextAction {
  const { phase, rotateAtMs, attemptAtMs } = state
  if (phase === 'waiting') return nextWhileWaiting(state, nowMs, isDoubted)
  // Showing a certificate that is due anyhow would be for nothing: the request for the next one shows it too.
  const isDue = phase === 'renewing' || nowMs >= rotateAtMs
  return { action: isDue ? 'renew' : 'present', atMs: attemptAtMs }
}

function nextWhileWaiting(state: RotationState, nowMs: number, isDoubted: boolean): NextAction {
  const { rotateAtMs, attemptAtMs, presentAtMs = Number.POSITIVE_INFINITY } = state
  const renewAtMs = Math.max(rotateAtMs, attemptAtMs)
  const showAtMs = isDoubted ? Math.min(presentAtMs, attemptAtMs + DOUBTED_CHECK_IN_MS) : presentAtMs
  return showAtMs < renewAtMs && nowMs < renewAtMs
    ? { action: 'present', atMs: showAtMs }
    : { action: 'renew', atMs: renewAtMs }
}

export function afterPresented({ rotateAtMs }: RotationState, nowMs: number): RotationState {
  return { phase: 'waiting', rotateAtMs, attemptAtMs: nowMs, failures: 0 }
}

/** Spread, so that edges that started together do not ask together for ever. */
export function toBePresentedAgain(state: RotationState, nowMs: number, random: () => number): RotationState {
  return { ...state, presentAtMs: nowMs + Math.round(CHECK_IN_INTERVAL_MS * (0.5 + random())) }
}

/** The hub signs with another CA by now, and the one before will not count for ever: renewed soon instead of in months. */
export function afterNewCa(
  state: RotationState,
  { notBeforeMs }: Validity,
  nowMs: number,
  random: () => number,
): RotationState {
  const soonMs = Math.max(nowMs, notBeforeMs + MIN_AGE_FOR_NEW_CA_MS) + Math.round(NEW_CA_RENEWAL_SPREAD_MS * random())
  return { ...state, rotateAtMs: Math.min(state.rotateAtMs, soonMs) }
}

export function afterRenewed(certificate: DatedCertificate, nowMs: number, random: () => number): RotationState {
  const rotateAtMs = drawRotation(certificate, nowMs, random)
  return { phase: 'presenting', rotateAtMs, attemptAtMs: nowMs, failures: 0 }
}

/**
 * Certificates are dated back a little, so one with a very short life may have passed the drawn part of it when it arrives.
 * Then the same part of what is left counts, or it would be renewed in a tight circle.
 */
export function drawRotation(validity: Validity, nowMs: number, random: () => number): number {
  const drawnMs = drawRotationMs(validity, random)
  if (drawnMs > nowMs || nowMs >= validity.notAfterMs) return drawnMs
  return drawRotationMs({ notBeforeMs: nowMs, notAfterMs: validity.notAfterMs }, random)
}

/** Refusals that no repetition changes. An expired certificate belongs here only when it was to be renewed. */
const finalCodes: ReadonlySet<string> = new Set<HubRefusalCode>([
  'certificate-revoked',
  'certificate-invalid',
  'node-mismatch',
])

export function afterFailure(
  state: RotationState,
  action: RotationAction,
  { code, message, retryAfterMs = 0 }: RotationFailure,
  nowMs: number,
  random: () => number,
): RotationState {
  const { rotateAtMs } = state
  const failures = state.failures + 1
  const untrustedSinceMs = untrustedSince(state, code, nowMs)
  if (finalCodes.has(code) || (code === 'certificate-expired' && action === 'renew'))
    return { phase: 'rejoin-needed', rotateAtMs, attemptAtMs: nowMs + REJOIN_RECHECK_MS, failures, message }
  // The hub's clock may be ahead of ours. What counts is its grace, and that it grants only to renewals.
  if (code === 'certificate-expired')
    return { phase: 'renewing', rotateAtMs: Math.min(rotateAtMs, nowMs), attemptAtMs: nowMs, failures, message }
  const longestMs = Math.min(ROTATION_RETRY_MAX_MS, ROTATION_RETRY_FIRST_MS * 2 ** Math.min(failures - 1, 20))
  const attemptAtMs = nowMs + Math.max(retryAfterMs, Math.ceil(random() * longestMs))
  const phase = action === 'renew' ? 'renewing' : 'presenting'
  return { phase, rotateAtMs, attemptAtMs, failures, message, untrustedSinceMs }
}

/** An answer that never came says nothing about who would have answered. */
const silentCodes: ReadonlySet<string> = new Set<HubNetworkCode>(['dns', 'refused', 'unreachable', 'timeout', 'reset'])

function untrustedSince({ untrustedSinceMs }: RotationState, code: string, nowMs: number): number | undefined {
  if (code === ('hub-untrusted' satisfies HubTlsCode)) return untrustedSinceMs ?? nowMs
  return silentCodes.has(code) ? untrustedSinceMs : undefined
}

/** Whether the hub has been a stranger for so long that it will hardly mend itself. */
export function isHubLost({ untrustedSinceMs }: RotationState, nowMs: number): boolean {
  return untrustedSinceMs !== undefined && nowMs - untrustedSinceMs >= UNTRUSTED_HUB_TOLERATED_MS
}
