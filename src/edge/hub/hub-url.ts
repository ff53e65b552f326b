/** Addresses of hubs as people write them. */
import { ExplainedError } from '../../runtime/explained-error.ts'

/** Hubs behind one address need one entry; a list is for several addresses, and every entry costs a try when all are away. */
export const MAX_HUBS = 16

export class HubUrlError extends ExplainedError {
  override readonly name = 'HubUrlError'
}

/** Each as a URL with nothing but `https:`, a host and a port; at least one. Repeated ones count once. */
export function parseHubUrls(texts: readonly string[]): readonly [URL, ...URL[]] {
  const byOrigin = new Map(texts.map((text) => parseHubUrl(text)).map((url) => [url.origin, url]))
  const [first, ...others] = byOrigin.values()
  if (first === undefined)
    throw new HubUrlError('no hub is named; give at least one address, such as https://hub:10000')
  if (byOrigin.size > MAX_HUBS) throw new HubUrlError(`${byOrigin.size} hubs are named; at most ${MAX_HUBS} are tried`)
  return [first, ...others]
}

function parseHubUrl(text: string): URL {
  if (!URL.canParse(text.trim()))
    throw new HubUrlError(`${JSON.stringify(text)} is no URL; a hub is named like https://hub:10000`)
  const url = new URL(text.trim())
  const { protocol, username, password, pathname, search, hash } = url
  if (protocol !== 'https:') throw new HubUrlError(`${text}: a hub is reached by https only`)
  if (username !== '' || password !== '' || pathname !== '/' || search !== '' || hash !== '')
    throw new HubUrlError(`the address of a hub has a host and a port and nothing else: ${url.origin}`)
  return url
}
