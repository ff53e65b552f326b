/**
 * The head of a request on its way up: what belongs to the client's connection stays behind, identities that only a trusted
 * front proxy may claim are taken away, and what two readers could read differently is refused.
 */

import type { HeaderList, Peer, RequestHeaders, ResponseHeaders } from '../../http/server/exchange.ts'
import { MAX_REQUEST_TARGET_LENGTH } from '../../kube/request-info.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import { isSpecialAddress } from '../../network/special-address.ts'

/** Belongs to one connection, or is set anew for the next one. `expect` was answered by us; bodies go up as they come. */
const ofOneConnection: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])

/** How headers begin that an API server believes from a front proxy; no client of ours is one. */
const frontProxyPrefix = 'x-remote-'

/**
 * Claims about where a request has come from. API servers write X-Forwarded-For and X-Real-Ip into their audit log unchecked,
 * and whatever is behind them may believe the others.
 */
const originClaims: ReadonlySet<string> = new Set(['forwarded', 'via', 'x-real-ip'])
const originPrefix = 'x-forwarded-'

/**
 * Throws an ApiError for a target that is not a plain path. Double slashes, dots and escapes pass as they are: API servers
 * read them without tidying up, and so does `parseRequestInfo`.
 */
export function checkTarget(target: string): void {
  if (target.length > MAX_REQUEST_TARGET_LENGTH)
    throw badRequest(`the request target is longer than ${MAX_REQUEST_TARGET_LENGTH} characters`)
  if (!target.startsWith('/')) throw badRequest('the request target must be a path that begins with a slash')
  if (/[^\x21-\x7e]|#/.test(target))
    throw badRequest('the request target contains characters that must be percent-encoded')
}

/** What a request is and for whom: without these it would be another one, or run with other rights. */
const ofTheRequest = /^(authorization|host|sec-websocket-protocol|content-.*|impersonate-.*|x-remote-.*)$/

/**
 * Takes away what the client itself calls a matter of its connection; before anything else is read from the headers. Throws an
 * ApiError where it calls something so that no connection may lose.
 */
export function dropConnectionHeaders(headers: RequestHeaders): void {
  for (const value of headers.all('connection')) {
    for (const name of value.split(',')) {
      const listed = name.trim().toLowerCase()
      if (ofTheRequest.test(listed))
        throw badRequest(`the header Connection names ${listed}, which is not a matter of the connection`)
      if (listed !== '' && !ofOneConnection.has(listed)) headers.remove(listed)
    }
  }
}

export interface HeadOptions {
  /** The request asks to switch to this protocol. */
  readonly upgrade?: string | undefined
  /** The answer will be looked into: it must come uncompressed. */
  readonly plainAnswer?: boolean
  /** Who has connected to us: the API server is told, as by any proxy. */
  readonly peer?: Peer | undefined
}

export function upstreamHeaders(
  headers: RequestHeaders,
  { upgrade, plainAnswer = false, peer }: HeadOptions = {},
): HeaderList {
  const list: [string, string][] = []
  for (const [name, values] of headers.entries()) {
    if (!passes(name)) continue
    if (plainAnswer && name === 'accept-encoding') continue
    // Without a body there is nothing they could follow.
    if (upgrade !== undefined && name === 'trailer') continue
    for (const value of values) list.push([name, checkedValue(name, value)])
  }
  if (headers.all('te').some((value) => /\btrailers\b/i.test(value))) list.push(['te', 'trailers'])
  const origin = peer === undefined ? '' : originOf(peer)
  if (origin !== '') list.push(['x-forwarded-for', origin])
  if (plainAnswer) list.push(['accept-encoding', 'identity'])
  if (upgrade !== undefined) list.push(['connection', 'Upgrade'], ['upgrade', upgrade])
  return list
}

/** The trailers to pass on, by the rules for headers. They come when the request is long under way: what must not pass is left out, there is no refusing. */
export function upstreamTrailers(trailers: HeaderList): HeaderList {
  return trailers.filter(([name, value]) => passes(name) && !controlCharacter.test(value))
}

function passes(name: string): boolean {
  if (ofOneConnection.has(name) || originClaims.has(name)) return false
  return !name.startsWith(frontProxyPrefix) && !name.startsWith(originPrefix)
}

/** What is said of a client's address upstream, by connection: worked out with its first request. */
const origins = new WeakMap<Peer, string>()

/**
 * The address to name as that of the caller; none for one that is another machine elsewhere. In an audit log 127.0.0.1 is the
 * machine of the API server itself, which some who read it take for above suspicion.
 */
function originOf(peer: Peer): string {
  const known = origins.get(peer)
  if (known !== undefined) return known
  const address = peer.address.replace(/^::ffff:(?=[\d.]+$)/i, '')
  const origin = isSpecialAddress(address) ? '' : address
  origins.set(peer, origin)
  return origin
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const controlCharacter = /[\0\r\n]/

/** Parsers refuse these already; they are the one way to turn a value into further headers. */
function checkedValue(name: string, value: string): string {
  if (controlCharacter.test(value)) throw badRequest(`the header ${name} contains a control character`)
  return value
}

/** The answer's headers without what belonged to the connection it came on. */
export function clientHeaders(list: HeaderList): ResponseHeaders {
  const headers: ResponseHeaders = {}
  for (const [name, value] of list) {
    if (ofOneConnection.has(name)) continue
    const known = headers[name]
    if (known === undefined) headers[name] = value
    else headers[name] = typeof known === 'string' ? [known, value] : [...known, value]
  }
  return headers
}
