/** The reflector: a local view of a collection that follows the server. */
export {
  BACKOFF_FIRST_MS,
  BACKOFF_MAX_MS,
  BACKOFF_RESET_MS,
  type BackoffSteps,
  LINK_BACKOFF,
  MAX_RETRY_AFTER_MS,
  UNREADABLE_BACKOFF,
} from './backoff.ts'
export {
  MAX_INITIAL_SILENCE_MS,
  MAX_STREAM_FAILURES,
  MAX_WATCH_SECONDS,
  MIN_WATCH_LIFE_MS,
  MIN_WATCH_SECONDS,
  ReflectorCore,
  type ReflectorCoreOptions,
  SNAPSHOT_PAGE_SIZE,
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
