/**
 * Who is calling, as far as the endpoint itself must know: which connections to the API server the request may use. What a
 * token is worth only the API server says.
 */
import { hash } from 'node:crypto'
import { badRequest, unauthorized } from '../../kube/status/request-errors.ts'
import type { RequestHeaders } from '../../serving/exchange.ts'
import type { CertificateVerdict } from './client-certificate.ts'

export type Caller =
  | { readonly kind: 'node' }
  | {
      readonly kind: 'token'
      /** Never kept longer than the request. */
      readonly token: string
      /** SHA-256 in hex: by this the token is remembered. */
      readonly hash: string
    }
  | { readonly kind: 'anonymous' }

const node: Caller = { kind: 'node' }
const anonymous: Caller = { kind: 'anonymous' }

/** Throws an ApiError for callers whose credentials contradict each other or cannot be believed. */
export function callerOf(certificate: CertificateVerdict, headers: RequestHeaders): Caller {
  if (certificate.kind === 'wrong') throw unauthorized(certificate.message)
  const authorization = headers.all('authorization')
  // An API server reads the first; whoever stands in between may read another.
  if (authorization.length > 1) throw badRequest('the request has more than one Authorization header')
  const token = bearerToken(authorization[0]) ?? webSocketToken(headers)
  if (certificate.kind === 'absent') return token === undefined ? anonymous : tokenCaller(token)
  if (authorization.length > 0 || token !== undefined)
    throw unauthorized(
      "the request has a token or another Authorization header beside the node's client certificate; " +
        'an API server would leave it unread and act for the node. Send one or the other',
    )
  return node
}

function tokenCaller(token: string): Caller {
  return { kind: 'token', token, hash: hash('sha256', token) }
}

/** As an API server reads it: the scheme in any case, the token up to the next space, an empty one is none. */
function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  const [scheme = '', token = ''] = authorization.trim().split(' ', 2)
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined
}

/** Browsers cannot set headers on a WebSocket, so a token may come as a subprotocol. */
const webSocketPrefix = 'base64url.bearer.authorization.k8s.io.'

function webSocketToken(headers: RequestHeaders): string | undefined {
  for (const value of headers.all('sec-websocket-protocol')) {
    for (const protocol of value.split(',')) {
      const text = protocol.trim()
      if (!text.startsWith(webSocketPrefix)) continue
      const token = Buffer.from(text.slice(webSocketPrefix.length), 'base64url').toString('utf8')
      if (token !== '') return token
    }
  }
  return undefined
}
