/** Extra attributes of a user in headers, `X-Remote-Extra-Key: value`. Keys are percent-encoded where a name cannot hold them. */
import type { RequestHeaders } from '../../../http/server/exchange.ts'
import type { UserInfo } from '../../request/user.ts'
import { headerText } from './header-text.ts'

/** The extra of a user, from headers that begin with `prefix`. Two of them may name one key, in two spellings. */
export function readExtra(headers: RequestHeaders, prefix: string): UserInfo['extra'] {
  const extra = new Map<string, string[]>()
  for (const [header, values] of headers.entries()) {
    if (!header.startsWith(prefix)) continue
    const key = decodeKey(header.slice(prefix.length))
    extra.set(key, [...(extra.get(key) ?? []), ...values.map(headerText)])
  }
  return Object.fromEntries(extra)
}

/** The key of an extra without its percent encoding; one that is not well encoded stays as it is. */
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
