/** Bounds on selectors, far above what clients send and low enough that parsing and matching stay cheap. */
import { badRequest } from '../status/request-errors.ts'

/** No person writes more, and a generated selector of this size matches nothing useful. */
export const MAX_SELECTOR_LENGTH = 65_536
export const MAX_SELECTOR_REQUIREMENTS = 1024
/** Values of one `in` or `notin`. */
export const MAX_SELECTOR_VALUES = 4096

/** The limit is checked before anything is parsed. */
export function checkSelectorLength(what: string, text: string): void {
  if (text.length > MAX_SELECTOR_LENGTH) {
    throw badRequest(`${what} is ${text.length} characters long, at most ${MAX_SELECTOR_LENGTH} are allowed`)
  }
}

export function checkSelectorCount(what: string, count: number, max: number): void {
  if (count > max) throw badRequest(`${what}: more than ${max} are not allowed`)
}
