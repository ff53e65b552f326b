/** API errors: what they are, how they are made, asked about, sent and received. */

export type { DeniedPath, DeniedResource } from './access-denied.ts'
export { accessDenied, accessDeniedText } from './access-denied.ts'
export {
  insufficientStorage,
  internalError,
  serviceUnavailable,
  timeout,
  tooLargeResourceVersion,
  tooManyRequests,
} from './availability-errors.ts'
export * from './field-error.ts'
export * from './from-http.ts'
export * from './generic-response.ts'
export type { GroupKind, GroupResource } from './group-names.ts'
export { formatGroupKind, formatGroupResource } from './group-names.ts'
export * from './predicates.ts'
export { MAX_STATUS_CAUSES, readFailure } from './read-status.ts'
export * from './request-errors.ts'
export * from './resource-errors.ts'
export * from './status.ts'
export * from './to-http.ts'
