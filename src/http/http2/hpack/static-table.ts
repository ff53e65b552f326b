/**
 * The 61 fields that both sides know from the start (RFC 7541, appendix A), for the decoder by index and for the encoder
 * by name.
 */

const entries: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
]

/** The first index of the dynamic table. */
export const firstDynamicIndex = entries.length + 1

/** By index; nothing at 0, which is no index. */
export const staticNames: readonly string[] = ['', ...entries.map(([name]) => name)]
export const staticValues: readonly string[] = ['', ...entries.map(([, value]) => value)]

/** Where a name stands: its first index, and the index of every value it has there. */
export interface StaticName {
  readonly index: number
  readonly values: ReadonlyMap<string, number>
}

export const staticByName: ReadonlyMap<string, StaticName> = indexByName()

function indexByName(): Map<string, StaticName> {
  const byName = new Map<string, { index: number; values: Map<string, number> }>()
  for (const [at, [name, value]] of entries.entries()) {
    const known = byName.get(name) ?? { index: at + 1, values: new Map<string, number>() }
    known.values.set(value, at + 1)
    byName.set(name, known)
  }
  return byName
}
