/**
 * The query of a request, read as the API server reads it: a pair with a semicolon or a broken escape does not exist,
 * the first of several values counts. A reader with other rules would see another request than the server does, so this
 * is the only one: a request is read once, on arrival, and everybody after it is handed the value.
 */

export class RequestQuery {
  /** As it stood in the request, without the question mark: for those who pass it on. */
  readonly raw: string
  /**
   * False where something in it is not UTF-8. Such bytes have no faithful text, and two different ones may look alike here:
   * it may be passed on as it is, but nobody may decide on it or carry it out.
   */
  readonly isText: boolean
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(raw: string, isText: boolean, values: ReadonlyMap<string, readonly string[]>) {
    this.raw = raw
    this.isText = isText
    this.#values = values
  }

  /** The value that counts, or undefined when the parameter is not there. */
  first(name: string): string | undefined {
    return this.#values.get(name)?.[0]
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** Present and neither `0` nor `false`: `?watch` and `?watch=` ask for a watch. */
  isSet(name: string): boolean {
    const value = this.first(name)
    return value !== undefined && value !== '0' && value.toLowerCase() !== 'false'
  }
}

/** The query of a request without one. */
export const EMPTY_QUERY = new RequestQuery('', true, new Map())

export function parseQuery(raw: string): RequestQuery {
  if (raw === '') return EMPTY_QUERY
  const values = new Map<string, string[]>()
  let isText = true
  const decode = (text: string): string => {
    const spaced = text.replaceAll('+', ' ')
    try {
      return decodeURIComponent(spaced)
    } catch {
      isText = false
      return decodeBytes(spaced)
    }
  }
  for (const pair of raw.split('&')) {
    if (pair === '' || pair.includes(';') || hasBrokenEscape(pair)) continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  return new RequestQuery(raw, isText, values)
}

/** With a replacement character for what is not UTF-8. The escapes are known to be whole. */
function decodeBytes(text: string): string {
  const bytes = text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_escape, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** The inverse, for requests of our own. */
export function formatQuery(pairs: Iterable<readonly [name: string, value: string]>): string {
  return Array.from(pairs, (pair) => pair.map(encodeURIComponent).join('=')).join('&')
}

export function hasBrokenEscape(text: string): boolean {
  return /%(?![0-9A-Fa-f]{2})/.test(text)
}
