/**
 * The `Status` object, by which an API server says what went wrong, and the one error class that carries it. Keys are
 * always written in the order of the Go struct, so that a Status of ours serializes like the real one.
 */
import { presentFields } from '../present-fields.ts'
export type KnownStatusReason =
  | 'AlreadyExists'
  | 'BadRequest'
  | 'Conflict'
  | 'Expired'
  | 'Forbidden'
  | 'Gone'
  | 'InternalError'
  | 'Invalid'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'NotFound'
  | 'RequestEntityTooLarge'
  | 'ServerTimeout'
  | 'ServiceUnavailable'
  | 'StorageReadError'
  | 'Timeout'
  | 'TooManyRequests'
  | 'Unauthorized'
  | 'UnsupportedMediaType'

/** Extension servers may use reasons of their own. An absent reason means that the server did not know one. */
export type StatusReason = KnownStatusReason | (string & Record<never, never>)

export type KnownCauseType =
  | 'FieldManagerConflict'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueInvalid'
  | 'FieldValueNotFound'
  | 'FieldValueNotSupported'
  | 'FieldValueRequired'
  | 'FieldValueTooFew'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTooShort'
  | 'FieldValueTypeInvalid'
  | 'InternalError'
  | 'ResourceVersionTooLarge'
  | 'UnexpectedServerResponse'

export type CauseType = KnownCauseType | (string & Record<never, never>)

export interface StatusCause {
  readonly reason?: CauseType
  readonly message?: string
  readonly field?: string
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  /** The resource (`pods`) for most errors, the kind (`Pod`) for validation errors. */
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

export interface Status {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: {
    readonly resourceVersion?: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly status: 'Success' | 'Failure'
  readonly message?: string
  readonly reason?: StatusReason
  readonly details?: StatusDetails
  readonly code: number
}

export interface ApiFailure {
  readonly code: number
  readonly reason?: StatusReason
  readonly message: string
  readonly details?: StatusDetails | undefined
  readonly metadata?: Status['metadata'] | undefined
}

/** Room for every error that validation shows; what is longer repeats what the client has sent. */
const MAX_STATUS_MESSAGE_CHARACTERS = 128 * 1024

export function failureStatus(failure: ApiFailure): Status {
  const message = failure.message.slice(0, MAX_STATUS_MESSAGE_CHARACTERS)
  return presentFields({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: failure.metadata ?? {},
    status: 'Failure',
    message: message || undefined,
    reason: failure.reason || undefined,
    details: failure.details && statusDetails(failure.details),
    code: failure.code,
  })
}

/** The answer to a request that succeeded and has no object to return, such as an immediate delete. */
export function successStatus(details?: StatusDetails): Status {
  return presentFields({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: details && statusDetails(details),
    code: 200,
  })
}

/** Empty values are left out, as Go's `omitempty` does; details without any stay as an empty object. */
export function statusDetails(details: StatusDetails): StatusDetails {
  return presentFields({
    name: details.name || undefined,
    group: details.group || undefined,
    kind: details.kind || undefined,
    uid: details.uid || undefined,
    causes: details.causes && details.causes.length > 0 ? details.causes.map(statusCause) : undefined,
    retryAfterSeconds: details.retryAfterSeconds || undefined,
  })
}

function statusCause(cause: StatusCause): StatusCause {
  return presentFields({
    reason: cause.reason || undefined,
    message: cause.message || undefined,
    field: cause.field || undefined,
  })
}

/** An error that an API client may see: thrown anywhere below a request, turned into a response by `toHttp` alone. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: Status

  constructor(failure: ApiFailure, options?: ErrorOptions) {
    super(failure.message, options)
    this.status = failureStatus(failure)
  }

  get code(): number {
    return this.status.code
  }

  get reason(): StatusReason | undefined {
    return this.status.reason
  }

  /** How long the server asked the client to wait, if it did. */
  get retryAfterSeconds(): number | undefined {
    return this.status.details?.retryAfterSeconds
  }
}
