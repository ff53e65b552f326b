/**
 * Header values as they may be sent, whatever they were made from: what a client or a stored object brought must not keep an
 * answer from going out. As Go does it: what has no place in a value becomes a space, and none stand around it.
 */
import type { ResponseHeaders } from './exchange.ts'

const illegal = /[^\t\x20-\x7e\x80-\xff]/g
const illegalSomewhere = /[^\t\x20-\x7e\x80-\xff]|^[\t ]|[\t ]$/

/** The headers without what must not be sent; the same object where nothing had to be changed. */
export function legalHeaders(headers: ResponseHeaders): ResponseHeaders {
  for (const name in headers) {
    const value = headers[name] ?? ''
    const isIllegal =
      typeof value === 'string' ? illegalSomewhere.test(value) : value.some((each) => illegalSomewhere.test(each))
    if (isIllegal) return mended(headers)
  }
  return headers
}

export function legalHeaderValue(value: string): string {
  return value.replace(illegal, ' ').replace(/^[\t ]+|[\t ]+$/g, '')
}

function mended(headers: ResponseHeaders): ResponseHeaders {
  const mend = (value: string | string[]): string | string[] =>
    typeof value === 'string' ? legalHeaderValue(value) : value.map((each) => legalHeaderValue(each))
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, mend(value)]))
}
