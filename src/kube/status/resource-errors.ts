/** Errors about a resource or an object of it. Texts, codes and details are those of the API server. */
import { shortened } from './bounded-value.ts'
import { type FieldError, fieldErrorTexts, joinFieldErrorTexts } from './field-error.ts'
import { goQuote } from './go-text.ts'
import {
  formatGroupKind,
  formatGroupResource,
  type GroupKind,
  type GroupResource,
  isEmptyGroupResource,
} from './group-names.ts'
import { ApiError, type StatusCause, type StatusDetails } from './status.ts'

export function notFound(resource: GroupResource, name: string): ApiError {
  return new ApiError({
    code: 404,
    reason: 'NotFound',
    message: `${formatGroupResource(resource)} ${goQuote(name)} not found`,
    details: detailsOf(resource, name),
  })
}

export function alreadyExists(resource: GroupResource, name: string): ApiError {
  return new ApiError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${formatGroupResource(resource)} ${goQuote(name)} already exists`,
    details: detailsOf(resource, name),
  })
}

/** The server drew names from `generateName` and every one of them was taken. */
export function generateNameConflict(resource: GroupResource, name: string, retryAfterSeconds: number): ApiError {
  const subject = `${formatGroupResource(resource)} ${goQuote(name)}`
  return new ApiError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${subject} already exists, the server was not able to generate a unique name for the object`,
    details: { ...detailsOf(resource, name), retryAfterSeconds },
  })
}

/** `why` completes the sentence; for a stale resourceVersion it is `OBJECT_MODIFIED`. */
export function conflict(resource: GroupResource, name: string, why: string): ApiError {
  return new ApiError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${goQuote(name)}: ${why}`,
    details: detailsOf(resource, name),
  })
}

export const OBJECT_MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again'

/** Server-side apply met fields that other managers own; each conflict is one cause. */
export function applyConflict(causes: readonly StatusCause[], message: string): ApiError {
  return new ApiError({ code: 409, reason: 'Conflict', message, details: { causes } })
}

/** `why` is the text after "is forbidden:"; `accessDenied` writes the usual one. */
export function forbidden(resource: GroupResource, name: string, why: string): ApiError {
  return new ApiError({
    code: 403,
    reason: 'Forbidden',
    message: `${forbiddenSubject(resource, name)}: ${why}`,
    details: detailsOf(resource, name),
  })
}

function forbiddenSubject(resource: GroupResource, name: string): string {
  if (isEmptyGroupResource(resource)) return 'forbidden'
  const subject = formatGroupResource(resource)
  return name === '' ? `${subject} is forbidden` : `${subject} ${goQuote(name)} is forbidden`
}

export function invalid(kind: GroupKind, name: string, errors: readonly FieldError[]): ApiError {
  const shownName = shortened(name)
  const subject = `${formatGroupKind(kind)} ${goQuote(shownName)} is invalid`
  const texts = fieldErrorTexts(errors)
  return new ApiError({
    code: 422,
    reason: 'Invalid',
    message: texts.length === 0 ? subject : `${subject}: ${joinFieldErrorTexts(texts)}`,
    details: {
      name: shownName,
      group: kind.group,
      kind: kind.kind,
      causes: texts.map(({ type, field, body }) => ({ reason: type, message: body, field })),
    },
  })
}

/** `action` is the API verb that the resource does not offer. */
export function methodNotSupported(resource: GroupResource, action: string): ApiError {
  return new ApiError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${action} is not supported on resources of kind ${goQuote(formatGroupResource(resource))}`,
    details: detailsOf(resource, ''),
  })
}

/** A passing failure below the server: the client should try again, even after 0 seconds. */
export function serverTimeout(resource: GroupResource, operation: string, retryAfterSeconds: number): ApiError {
  const subject = `The ${operation} operation against ${formatGroupResource(resource)}`
  return new ApiError({
    code: 500,
    reason: 'ServerTimeout',
    message: `${subject} could not be completed at this time, please try again.`,
    details: { ...detailsOf(resource, operation), retryAfterSeconds },
  })
}

function detailsOf(resource: GroupResource, name: string): StatusDetails {
  return { name, group: resource.group, kind: resource.resource }
}
