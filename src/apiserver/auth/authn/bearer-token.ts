/** The bearer token of a request, wherever it may stand. */
import type { RequestHeaders } from '../../../serving/exchange.ts'

/** Browsers cannot set headers on a WebSocket, so a token may come as a subprotocol. */
const webSocketPrefix = 'base64url.bearer.authorization.k8s.io.'

export function bearerToken(headers: RequestHeaders): string | undefined {
  const [scheme, token, ...rest] = (headers.get('authorization') ?? '').trim().split(/ +/)
  // Some clients write the scheme in lower case.
  if (scheme?.toLowerCase() === 'bearer' && token !== undefined && rest.length === 0) return token
  const protocols = headers.all('sec-websocket-protocol').flatMap((value) => value.split(','))
  const carrier = protocols.map((protocol) => protocol.trim()).find((protocol) => protocol.startsWith(webSocketPrefix))
  if (carrier === undefined) return undefined
  return Buffer.from(carrier.slice(webSocketPrefix.length), 'base64url').toString('utf8') || undefined
}
