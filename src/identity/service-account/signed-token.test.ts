import { createSecretKey, type KeyObject } from 'node:crypto'
import * as fc from 'fast-check'
import { CompactSign } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { jwtAlgorithm, jwtKeyId } from '../jwk.ts'
import { generateKeys, type KeyKind, type KeyPair, publicKeyPem } from '../keys.ts'
import { ownVerificationKey, parseToken, type SignatureCheck, SignatureVerifier } from './signed-token.ts'

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const header = part({ alg: 'ES256', kid: 'k' })
const payload = part({ iss: 'me' })

describe('parseToken', () => {
  it('takes a token apart', () => {
    const text = `${header}.${payload}.c2ln`
    expect(parseToken(text)).toEqual({ text, keyId: 'k', payload: { iss: 'me' } })
    expect(parseToken(`${part({ alg: 'ES256' })}.${payload}.`)).toMatchObject({ keyId: '' })
  })

  it.each([
    '',
    'word',
    '..',
    `${header}.${payload}`,
    `${header}.${payload}.sig.more`,
    `${header}=.${payload}.sig`,
    `${header}.${payload}.s+g`,
    `${header}.${part([])}.sig`,
    `${header}.${part(null)}.sig`,
    `${part({ kid: 'k' })}.${payload}.sig`,
    `${part({ alg: 'ES256', kid: 1 })}.${payload}.sig`,
    `${header}.bm90IGpzb24.sig`,
    `{"payload":"${payload}"}`,
  ])('knows that %j is none', (text) => {
    expect(parseToken(text)).toBeUndefined()
  })

  it('survives anything', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.json().map((json) => Buffer.from(json).toString('base64url')),
          ),
        ),
        (parts) => {
          const token = parseToken(parts.join('.'))
          expect(token === undefined || token.text === parts.join('.')).toBe(true)
        },
      ),
    )
  })
})

describe('SignatureVerifier', () => {
  const kinds: readonly KeyKind[] = [
    { type: 'rsa', bits: 2048 },
    { type: 'ec', curve: 'P-256' },
    { type: 'ec', curve: 'P-384' },
    { type: 'ec', curve: 'P-521' },
    { type: 'ed25519' },
  ]
  let pairs: KeyPair[]
  let stranger: KeyPair

  beforeAll(async () => {
    pairs = await Promise.all(kinds.map((kind) => generateKeys(kind)))
    stranger = await generateKeys()
  })

  const sign = async (key: KeyObject, fields: { alg: string; kid?: string }): Promise<string> =>
    await new CompactSign(Buffer.from('{"iss":"me"}')).setProtectedHeader(fields).sign(key)

  const check = async (verifier: SignatureVerifier, text: string): Promise<SignatureCheck | 'no token'> => {
    const token = parseToken(text)
    return token === undefined ? 'no token' : await verifier.check(token)
  }

  it('believes every key it was given, by name or by trying', async () => {
    const verifier = new SignatureVerifier(pairs.map(({ publicKey }) => ownVerificationKey(publicKey)))
    for (const { privateKey } of pairs) {
      const alg = jwtAlgorithm(privateKey)
      expect(await check(verifier, await sign(privateKey, { alg, kid: jwtKeyId(privateKey) }))).toBe('valid')
      expect(await check(verifier, await sign(privateKey, { alg }))).toBe('valid')
    }
  })

  it('takes private keys for their public halves', async () => {
    const verifier = new SignatureVerifier([ownVerificationKey(stranger.privateKey)])
    expect(await check(verifier, await sign(stranger.privateKey, { alg: 'ES256' }))).toBe('valid')
  })

  it('believes nobody else', async () => {
    const verifier = new SignatureVerifier(pairs.map(({ publicKey }) => ownVerificationKey(publicKey)))
    const kid = jwtKeyId(stranger.privateKey)
    expect(await check(verifier, await sign(stranger.privateKey, { alg: 'ES256', kid }))).toBe('unknown-key')
    expect(await check(verifier, await sign(stranger.privateKey, { alg: 'ES256' }))).toBe('bad-signature')
    expect(await check(new SignatureVerifier([]), await sign(stranger.privateKey, { alg: 'ES256' }))).toBe(
      'unknown-key',
    )
  })

  it('lets no token choose how it is checked', async () => {
    const [rsa] = pairs as [KeyPair]
    const kid = jwtKeyId(rsa.privateKey)
    const verifier = new SignatureVerifier([ownVerificationKey(rsa.publicKey)])
    const publicText = createSecretKey(Buffer.from(publicKeyPem(rsa.publicKey)))
    expect(await check(verifier, await sign(publicText, { alg: 'HS256', kid }))).toBe('bad-signature')
    expect(await check(verifier, await sign(rsa.privateKey, { alg: 'RS512', kid }))).toBe('bad-signature')
    expect(await check(verifier, `${part({ alg: 'none', kid })}.${payload}.`)).toBe('bad-signature')
  })

  it('remembers a token as a whole', async () => {
    const verifier = new SignatureVerifier([ownVerificationKey(stranger.publicKey)])
    const text = await sign(stranger.privateKey, { alg: 'ES256' })
    expect([await check(verifier, text), await check(verifier, text)]).toEqual(['valid', 'valid'])
    const [first = '', , signature = ''] = text.split('.')
    expect(await check(verifier, `${first}.${part({ iss: 'you' })}.${signature}`)).toBe('bad-signature')
    expect(await check(verifier, `${text.slice(0, -8)}AAAAAAAA`)).toBe('bad-signature')
  })
})
