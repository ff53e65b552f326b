import { assert, integer, property, string } from 'fast-check'
import { UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import {
  halfLifeMs,
  MIN_TOKEN_REFRESH_MS,
  readKubeProxyNamespace,
  readTokenLife,
  refreshAfterReceiptMs,
} from './token-life.ts'

function token(iat: number | undefined, exp: number | undefined): string {
  return new UnsecuredJWT({ ...(iat === undefined ? {} : { iat }), ...(exp === undefined ? {} : { exp }) }).encode()
}

describe('the life of a token', () => {
  it('is what the token says', () => {
    expect(readTokenLife(token(1000, 87_400))).toEqual({ issuedAtMs: 1_000_000, expiresAtMs: 87_400_000 })
  })

  it.each([
    ['no token at all', ''],
    ['no JWT', 'abc'],
    ['no begin', token(undefined, 5)],
    ['no end', token(5, undefined)],
    ['an end before the begin', token(6, 5)],
  ])('is not known of %s', (_what, text) => {
    expect(readTokenLife(text)).toBeUndefined()
  })

  it('is never read from any text by throwing', () => {
    assert(property(string(), (text) => readTokenLife(text) === undefined))
  })

  it('is half over in its middle, and after receipt by our own clock whatever that says', () => {
    const life = { issuedAtMs: 1_000_000, expiresAtMs: 1_000_000 + 7_200_000 }
    expect(halfLifeMs(life)).toBe(4_600_000)
    assert(
      property(integer({ min: 0, max: 1e13 }), integer({ min: 1, max: 1e9 }), (nowMs, lifeMs) => {
        const waitMs = refreshAfterReceiptMs({ issuedAtMs: 0, expiresAtMs: lifeMs }, nowMs) - nowMs
        expect(waitMs).toBe(Math.max(MIN_TOKEN_REFRESH_MS, Math.floor(lifeMs / 2)))
      }),
    )
  })
})

describe('the namespace of kube-proxy', () => {
  function tokenOf(sub: unknown): string {
    return new UnsecuredJWT({ sub } as { sub: string }).encode()
  }

  it('is what its token says', () => {
    expect(readKubeProxyNamespace(tokenOf('system:serviceaccount:edges-2:kube-proxy'))).toBe('edges-2')
  })

  it.each([
    'system:serviceaccount:edges:kube-proxy2',
    'system:serviceaccount:edges:default',
    'system:serviceaccount::kube-proxy',
    'system:serviceaccount:a:b:kube-proxy',
    'system:serviceaccount:Edges:kube-proxy',
    `system:serviceaccount:${'a'.repeat(64)}:kube-proxy`,
    'x:system:serviceaccount:edges:kube-proxy',
    'system:serviceaccount:edges:kube-proxy\n',
    'system:kube-proxy',
    '',
    7,
    undefined,
  ])('is not known from the subject %j', (subject) => {
    expect(readKubeProxyNamespace(tokenOf(subject))).toBeUndefined()
  })

  it('is never read from any text by throwing', () => {
    assert(property(string(), (text) => readKubeProxyNamespace(text) === undefined))
  })
})
