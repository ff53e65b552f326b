/**
 * The refusals of the patch engines, with the codes and texts of the API server. Some mistakes of a client come out as
 * a 500 there, and a failed JSON patch says nothing about why: both are kept, because clients were written against
 * them. What a refusal hides from the client is its `cause`.
 */
import { invalidField } from '../status/field-error.ts'
import { genericServerResponse } from '../status/generic-response.ts'
import { invalid } from '../status/resource-errors.ts'
import { ApiError } from '../status/status.ts'

/** A patch of the right form that does not fit the object: 422, the reason only in the cause. */
export function patchDoesNotApply(why: string): ApiError {
  const {
    code,
    message,
    reason = '',
    details = {},
  } = genericServerResponse({
    code: 422,
    method: '',
    serverMessage: why,
    unexpected: false,
  }).status
  return new ApiError({ code, reason, message: message ?? '', details }, { cause: new Error(why) })
}

/** What the API server answers where its strategic merge gives up without a code of its own: 500 and no reason. */
export function strategicMergeFailed(message: string): ApiError {
  return new ApiError({ code: 500, message })
}

/**
 * The patch applied but its result is no object of the kind. `shown` is the patched object as JSON, for a strategic
 * merge patch the patch as `goPrint` prints it; `why` is the decoder's text.
 */
export function patchedObjectUnreadable(shown: string, why: string): ApiError {
  return invalid({ group: '', kind: '' }, '', [invalidField('patch', shown, why)])
}
