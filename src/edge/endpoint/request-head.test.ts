import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Peer, RequestHeaders } from '../../http/server/exchange.ts'
import { MAX_REQUEST_TARGET_LENGTH } from '../../kube/request-info.ts'
import { checkTarget, clientHeaders, dropConnectionHeaders, upstreamHeaders, upstreamTrailers } from './request-head.ts'

const peer = (address: string): Peer => ({ address, certificates: [] })
const headers = (...pairs: [string, string][]): RequestHeaders => new RequestHeaders(pairs)

describe('checkTarget', () => {
  it.each(['/', '//api', '/api/v1/%2e%2e', '/a;b', '/a?b=c%20d&e', '/a/../b', '/api/v1/watch/pods?&watch=true'])(
    'leaves %s to the API server',
    (target) => expect(() => checkTarget(target)).not.toThrow(),
  )

  it.each(['', '*', 'a', 'http://x/', '/a b', '/a\tb', '/\u00e4', '/a#b', `/${'a'.repeat(MAX_REQUEST_TARGET_LENGTH)}`])(
    'refuses %j',
    (target) => expect(() => checkTarget(target)).toThrow('the request target'),
  )
})

describe('dropConnectionHeaders', () => {
  it.each([
    'authorization',
    'Impersonate-User',
    'close, IMPERSONATE-EXTRA-a ,x',
    'content-length',
    'Content-Type',
    'host',
    'x-remote-group',
    'Upgrade, Sec-WebSocket-Protocol',
  ])('refuses Connection: %s', (value) => {
    expect(() => dropConnectionHeaders(headers(['connection', 'x'], ['connection', value]))).toThrow('Connection names')
  })

  it.each(['close', 'keep-alive, x-content-y', 'Upgrade, HTTP2-Settings', 'te, trailer', ''])('takes %j', (value) => {
    expect(() => dropConnectionHeaders(headers(['connection', value]))).not.toThrow()
  })
})

describe('upstreamHeaders', () => {
  it('keeps what a request says and nothing of its connection', () => {
    const received = headers(
      ['host', 'x'],
      ['connection', 'close, x-hop'],
      ['x-hop', '1'],
      ['transfer-encoding', 'chunked'],
      ['expect', '100-continue'],
      ['proxy-authorization', 'Basic x'],
      ['keep-alive', '5'],
      ['upgrade', 'h2c'],
      ['te', 'gzip'],
      ['authorization', 'Bearer x'],
      ['impersonate-group', 'a'],
      ['impersonate-group', 'b'],
      ['accept-encoding', 'gzip'],
    )
    dropConnectionHeaders(received)
    expect(upstreamHeaders(received)).toEqual([
      ['authorization', 'Bearer x'],
      ['impersonate-group', 'a'],
      ['impersonate-group', 'b'],
      ['accept-encoding', 'gzip'],
    ])
    expect(upstreamHeaders(received, { plainAnswer: true }).at(-1)).toEqual(['accept-encoding', 'identity'])
    expect(upstreamHeaders(received, { upgrade: 'websocket' }).slice(-2)).toEqual([
      ['connection', 'Upgrade'],
      ['upgrade', 'websocket'],
    ])
    expect(upstreamHeaders(headers(['trailer', 'x']), { upgrade: 'x' }).map(([name]) => name)).not.toContain('trailer')
  })

  it('holds trailers to the same rules', () => {
    const received = ['connection', 'te', 'transfer-encoding', 'upgrade', 'keep-alive', 'x-remote-user', 'x-checksum']
    const pairs = received.map((name) => [name, 'v'] as const)
    expect(upstreamTrailers([...pairs, ['x-a', 'b\r\nc']])).toEqual([['x-checksum', 'v']])
  })

  it('lets no name of a front proxy through, whatever else stands there', () => {
    const name = fc.constantFrom('x-remote-user', 'x-remote-group', 'x-remote-uid', 'x-remote-extra-a', 'x-other')
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.base64String())), (pairs) => {
        const sent = upstreamHeaders(headers(...pairs))
        expect(sent.every(([each]) => each === 'x-other')).toBe(true)
        expect(sent).toHaveLength(pairs.filter(([each]) => each === 'x-other').length)
      }),
    )
  })

  const claims = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'forwarded', 'via'] as const

  it('lets no word of the client about where it comes from through', () => {
    const claimed = claims.map((name) => [name, '203.0.113.7'] as const)
    const received = headers(...claimed.map(([name, value]): [string, string] => [name, value]), ['x-other', 'a'])
    expect(upstreamHeaders(received)).toEqual([['x-other', 'a']])
    expect(upstreamHeaders(received, { peer: peer('10.0.0.1') })).toEqual([
      ['x-other', 'a'],
      ['x-forwarded-for', '10.0.0.1'],
    ])
    expect(upstreamTrailers(claimed)).toEqual([])
  })

  it.each([
    ['10.244.1.7', '10.244.1.7'],
    ['::ffff:10.244.1.7', '10.244.1.7'],
    ['fd00::7', 'fd00::7'],
  ])('says that %s has asked', (address, said) => {
    const received = headers(['connection', 'x-forwarded-for'])
    dropConnectionHeaders(received)
    expect(upstreamHeaders(received, { peer: peer(address) })).toEqual([['x-forwarded-for', said]])
  })

  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '169.254.30.10', 'fe80::1', 'fe80::1%eth0', ''])(
    'does not say that %j has asked, which would be another machine elsewhere',
    (address) => expect(upstreamHeaders(headers(), { peer: peer(address) })).toEqual([]),
  )

  it.each(['a\r\nb: c', 'a\nb', 'a\rb', 'a\0'])('refuses the value %j', (value) => {
    expect(() => upstreamHeaders(headers(['x-a', value]))).toThrow('control character')
  })
})

describe('clientHeaders', () => {
  it('keeps repeated headers apart and leaves out those of the connection', () => {
    const received = [
      ['warning', 'a'],
      ['connection', 'close'],
      ['warning', 'b'],
      ['transfer-encoding', 'chunked'],
      ['warning', 'c'],
      ['content-type', 'x'],
    ] as const
    expect(clientHeaders(received)).toEqual({ warning: ['a', 'b', 'c'], 'content-type': 'x' })
  })
})
