/** Takes a Status out of decoded but untrusted data: fields of the wrong type are left out, everything else is copied. */
import { presentFields } from '../present-fields.ts'
import { type ApiFailure, type StatusCause, type StatusDetails, statusDetails } from './status.ts'

/** A Status with more causes than this is cut: nobody reads them, and they would only fill memory. */
export const MAX_STATUS_CAUSES = 1024

type Fields = Readonly<Record<string, unknown>>

/** The failure that `value` describes, or undefined when it is not a Status or not a failure. */
export function readFailure(value: unknown, httpCode: number): ApiFailure | undefined {
  if (!isFields(value) || value['kind'] !== 'Status' || value['status'] !== 'Failure') return undefined
  const apiVersion = value['apiVersion'] ?? 'v1'
  if (apiVersion !== 'v1' && apiVersion !== 'meta.k8s.io/v1') return undefined
  const details = value['details']
  return {
    code: integer(value['code']) || httpCode,
    message: text(value['message']),
    reason: text(value['reason']),
    metadata: readMetadata(value['metadata']),
    details: isFields(details) ? readDetails(details) : undefined,
  }
}

function readMetadata(value: unknown): NonNullable<ApiFailure['metadata']> {
  if (!isFields(value)) return {}
  const resourceVersion = text(value['resourceVersion'])
  const continueToken = text(value['continue'])
  const { remainingItemCount } = value
  return presentFields({
    resourceVersion: resourceVersion || undefined,
    continue: continueToken || undefined,
    remainingItemCount: Number.isSafeInteger(remainingItemCount) ? (remainingItemCount as number) : undefined,
  })
}

function readDetails(details: Fields): StatusDetails {
  const causes = Array.isArray(details['causes']) ? (details['causes'] as unknown[]) : []
  return statusDetails({
    name: text(details['name']),
    group: text(details['group']),
    kind: text(details['kind']),
    uid: text(details['uid']),
    causes: causes.slice(0, MAX_STATUS_CAUSES).filter(isFields).map(readCause),
    retryAfterSeconds: integer(details['retryAfterSeconds']),
  })
}

function readCause(cause: Fields): StatusCause {
  return { reason: text(cause['reason']), message: text(cause['message']), field: text(cause['field']) }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function integer(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0
}
