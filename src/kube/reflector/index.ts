/** The reflector: a local view of a collection that follows the server. */
export { backoffFirstMs, backoffMaxMs, backoffResetMs, maxRetryAfterMs } from './backoff.ts'
export {
  maxInitialSilenceMs,
  maxStreamFailures,
  maxWatchSeconds,
  minWatchLifeMs,
  minWatchSeconds,
  ReflectorCore,
  type ReflectorCoreOptions,
  snapshotPageSize,
} from './core.ts'
export type { Failure, FailureKind } from './failure.ts'
export type { Action, Input, Step } from './protocol.ts'
export {
  type Notification,
  Reflector,
  type ReflectorListener,
  type ReflectorOptions,
  type ReflectorSource,
  type WatchSource,
} from './reflector.ts'
export { type Change, keyOf } from './view.ts'
