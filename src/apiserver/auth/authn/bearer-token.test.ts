import { describe, expect, it } from 'vitest'
import { RequestHeaders } from '../../../http/server/exchange.ts'
import { bearerToken } from './bearer-token.ts'

function tokenIn(...pairs: [string, string][]): string | undefined {
  return bearerToken(new RequestHeaders(pairs))
}

describe('the bearer token', () => {
  it.each([
    ['Bearer t', 't'],
    ['bearer t', 't'],
    [' Bearer t ', 't'],
    ['Bearer t x', 't'],
    ['Bearer  t', undefined],
    ['Bearer', undefined],
    ['Basic t', undefined],
    ['', undefined],
  ])('in %j is %j', (value, token) => {
    expect(tokenIn(['authorization', value])).toBe(token)
  })

  const protocol: [string, string] = ['sec-websocket-protocol', 'x, base64url.bearer.authorization.k8s.io.dA']
  const upgrade: [string, string][] = [
    ['connection', 'keep-alive, Upgrade'],
    ['upgrade', 'websocket'],
  ]

  it('may be a subprotocol of a WebSocket, and of nothing else', () => {
    expect(tokenIn(protocol, ...upgrade)).toBe('t')
    expect(tokenIn(protocol)).toBeUndefined()
    expect(tokenIn(['authorization', 'Bearer header'], protocol, ...upgrade)).toBe('header')
  })
})
