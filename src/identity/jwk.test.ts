import { createHash } from 'node:crypto'
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { jwkSet, jwtAlgorithm, jwtKeyId, publicJwk } from './jwk.ts'
import { generateKeys, type KeyKind, publicKeyDer } from './keys.ts'

const kinds: [string, KeyKind, string[]][] = [
  ['RS256', { type: 'rsa', bits: 2048 }, ['alg', 'e', 'kid', 'kty', 'n', 'use']],
  ['ES256', { type: 'ec', curve: 'P-256' }, ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']],
  ['ES384', { type: 'ec', curve: 'P-384' }, ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']],
  ['ES512', { type: 'ec', curve: 'P-521' }, ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']],
  ['EdDSA', { type: 'ed25519' }, ['alg', 'crv', 'kid', 'kty', 'use', 'x']],
]

describe('publicJwk', () => {
  it.each(kinds)('%s: a token signed with the private key verifies with the set', async (alg, kind, members) => {
    const { privateKey, publicKey } = await generateKeys(kind)
    expect(jwtAlgorithm(privateKey)).toBe(alg)
    const jwk = publicJwk(privateKey)
    expect(jwk).toEqual(publicJwk(publicKey))
    expect(Object.keys(jwk).sort()).toEqual(members)
    expect(jwk.kid).toBe(createHash('sha256').update(publicKeyDer(publicKey)).digest('base64url'))
    const token = await new SignJWT({ sub: 'a' })
      .setProtectedHeader({ alg, kid: jwtKeyId(privateKey) })
      .sign(privateKey)
    const other = await generateKeys()
    const keys = createLocalJWKSet({ keys: [publicJwk(other.publicKey), jwk].map((key) => ({ ...key })) })
    const { payload } = await jwtVerify(token, keys)
    expect(payload.sub).toBe('a')
  })
})

describe('jwkSet', () => {
  it('lists each key once, in order', async () => {
    const [a, b] = await Promise.all([generateKeys(), generateKeys()])
    const set = jwkSet([a.publicKey, b.publicKey, a.privateKey])
    expect(set.keys.map(({ kid }) => kid)).toEqual([jwtKeyId(a.publicKey), jwtKeyId(b.publicKey)])
  })
})
