import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RequestHeaders } from '../../http/server/exchange.ts'
import { callerOf } from './caller.ts'

const absent = { kind: 'absent' } as const
const node = { kind: 'node' } as const
const headers = (...pairs: [string, string][]): RequestHeaders => new RequestHeaders(pairs)

describe('callerOf', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER abc', 'abc'],
    ['Bearer abc def', undefined],
    ['\u00a0Bearer abc', undefined],
    ['Bearer abc\u00a0', undefined],
    ['Bearer\tabc', undefined],
    ['  Bearer abc  ', 'abc'],
    ['Bearer', undefined],
    ['Bearer  abc', undefined],
    ['Basic YTpi', undefined],
    ['', undefined],
    ['abc', undefined],
  ])('takes from Authorization %j what every API server takes for a token', (value, token) => {
    const caller = callerOf(absent, headers(['authorization', value]))
    expect(caller.kind === 'token' ? caller.token : undefined).toBe(token)
  })

  it('reads the token of a WebSocket, after the header', () => {
    const protocol = (token: string): [string, string] => [
      'sec-websocket-protocol',
      `v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`,
    ]
    const upgrade: [string, string] = ['upgrade', 'WebSocket']
    expect(callerOf(absent, headers(protocol('x'), upgrade), true)).toMatchObject({ kind: 'token', token: 'x' })
    const both = headers(protocol('x'), upgrade, ['authorization', 'Bearer y'])
    expect(callerOf(absent, both, true)).toMatchObject({ token: 'y' })
    // An API server does not look there without a WebSocket: the caller is anonymous for it.
    expect(callerOf(absent, headers(protocol('x'), upgrade))).toEqual({ kind: 'anonymous' })
    expect(callerOf(absent, headers(protocol('x'), ['upgrade', 'SPDY/3.1']), true)).toEqual({ kind: 'anonymous' })
    expect(callerOf(absent, headers(['sec-websocket-protocol', 'v5.channel.k8s.io']))).toEqual({ kind: 'anonymous' })
    expect(() => callerOf(node, headers(protocol('x')))).toThrow('one or the other')
  })

  it('takes no token from the query and no name from a header', () => {
    expect(callerOf(absent, headers(['x-remote-user', 'admin'], ['x-access-token', 't']))).toEqual({
      kind: 'anonymous',
    })
  })

  it('takes one credential, never two', () => {
    expect(callerOf(node, headers())).toEqual({ kind: 'node' })
    const two = headers(['authorization', 'Bearer a'], ['authorization', 'Bearer a'])
    expect(() => callerOf(absent, two)).toThrow('more than one Authorization')
    expect(() => callerOf({ kind: 'wrong', message: 'not you' }, headers())).toThrow('not you')
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(() => callerOf(node, headers(['authorization', value]))).toThrow('one or the other')
      }),
    )
  })

  it('remembers a token by a hash that no other token has', () => {
    const hashOf = (token: string): string => {
      const caller = callerOf(absent, headers(['authorization', `Bearer ${token}`]))
      return caller.kind === 'token' ? caller.hash : ''
    }
    expect(hashOf('a')).toMatch(/^[0-9a-f]{64}$/)
    expect(hashOf('a')).toBe(hashOf('a'))
    expect(hashOf('a')).not.toBe(hashOf('b'))
  })
})
