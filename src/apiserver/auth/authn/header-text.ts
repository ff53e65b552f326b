/**
 * Names of users in headers. A header is bytes, and comes to us with a character for each; API servers take them for UTF-8, as
 * certificates, tokens and roles have the same names. Bytes that are none have no name that anybody could be called.
 */

import type { RequestHeaders } from '../../../http/server/exchange.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'

const beyondAscii = /[^\0-\x7f]/

/** The value of a header as UTF-8. Throws a 400 for bytes that are none. */
export function headerText(value: string): string {
  if (!beyondAscii.test(value)) return value
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, 'latin1'))
  } catch (error) {
    throw badRequest('a header of the request that names a user or a group is not valid UTF-8', { cause: error })
  }
}

export function firstText(headers: RequestHeaders, name: string): string {
  return headerText(headers.get(name) ?? '')
}

export function allTexts(headers: RequestHeaders, name: string): readonly string[] {
  return headers.all(name).map(headerText)
}
