/**
 * Who is calling, as far as the endpoint itself must know: which connections to the API server the request may use. What a
 * token is worth only the API server says.
 */
import { hash } from 'node:crypto'
import type { RequestHeaders } from '../../http/server/exchange.ts'
import { badRequest, unauthorized } from '../../kube/status/request-errors.ts'
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
export function callerOf(certificate: CertificateVerdict, headers: RequestHeaders, isUpgrade = false): Caller {
  if (certificate.kind === 'wrong') throw unauthorized(certificate.message)
  const authorization = headers.all('authorization')
  // An API server reads the first; whoever stands in between may read another.
  if (authorization.length > 1) throw badRequest('the request has more than one Authorization header')
  if (certificate.kind === 'absent') {
    const token = bearerToken(authorization[0]) ?? (isUpgrade ? webSocketToken(headers) : undefined)
    return token === undefined ? anonymous : tokenCaller(token)
  }
  if (authorization.length > 0 || subprotocolToken(headers) !== undefined)
    throw unauthorized(
      "the request has a token or another Authorization header beside the node's client certificate; " +
        'an API server would leave it unread and act for the node. Send one or the other',
    )
  return node
}

function tokenCaller(token: string): Caller {
  return { kind: 'token', token, hash: hash('sha256', token) }
}

/**
 * Only what every API server reads as this token: the scheme in any case, one space, one word. What some read otherwise goes
 * up as it is, and whatever the answer says, it says nothing about a token.
 */
function bearerToken(authorization = ''): string | undefined {
  return /^[ \t]*bearer ([\x21-\x7e]+)[ \t]*$/i.exec(authorization)?.[1]
}

/** Browsers cannot set headers on a WebSocket, so a token may come as a subprotocol. */
const webSocketPrefix = 'base64url.bearer.authorization.k8s.io.'

/** An API server looks for it only where a WebSocket is asked for. */
function webSocketToken(headers: RequestHeaders): string | undefined {
  return headers.get('upgrade')?.toLowerCase() === 'websocket' ? subprotocolToken(headers) : undefined
}

function subprotocolToken(headers: RequestHeaders): string | undefined {
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
