/** The bearer token of a request, wherever it may stand, read as kube-apiserver reads it. */
import type { RequestHeaders } from '../../../http/server/exchange.ts'

/** Browsers cannot set headers on a WebSocket, so a token may come as a subprotocol. */
const webSocketPrefix = 'base64url.bearer.authorization.k8s.io.'

export function bearerToken(headers: RequestHeaders): string | undefined {
  // Split at each single space: two in a row leave no token, and what stands behind the token is not looked at.
  const [scheme, token] = (headers.get('authorization') ?? '').trim().split(' ')
  // Some clients write the scheme in lower case.
  if (scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '') return token
  return isWebSocket(headers) ? subprotocolToken(headers) : undefined
}

function isWebSocket(headers: RequestHeaders): boolean {
  const isUpgrade = headers.all('connection').some((value) => /\bupgrade\b/i.test(value))
  return isUpgrade && headers.get('upgrade')?.toLowerCase() === 'websocket'
}

function subprotocolToken(headers: RequestHeaders): string | undefined {
  const protocols = headers.all('sec-websocket-protocol').flatMap((value) => value.split(','))
  const carrier = protocols.map((protocol) => protocol.trim()).find((protocol) => protocol.startsWith(webSocketPrefix))
  if (carrier === undefined) return undefined
  return Buffer.from(carrier.slice(webSocketPrefix.length), 'base64url').toString('utf8') || undefined
}
