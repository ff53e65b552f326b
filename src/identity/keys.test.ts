import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { certificatePem } from './certificate.ts'
import { userName } from './distinguished-name.ts'
import { issueSelfSignedCa } from './issue.ts'
import {
  generateKeys,
  type KeyKind,
  keyFingerprint,
  keyKind,
  keyMatchesCertificate,
  privateKeyPem,
  publicKeyPem,
  readPrivateKey,
  readPublicKeys,
} from './keys.ts'
import { writePem } from './pem.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

const kinds: KeyKind[] = [
  { type: 'ec', curve: 'P-256' },
  { type: 'ec', curve: 'P-384' },
  { type: 'ec', curve: 'P-521' },
  { type: 'rsa', bits: 2048 },
  { type: 'ed25519' },
]

function codeOf(work: () => unknown): unknown {
  try {
    work()
    return 'nothing thrown'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

function certificateOf(privateKey: KeyObject) {
  return issueSelfSignedCa({ subject: userName('ca'), notBeforeMs: 0, notAfterMs: 1e12 }, privateKey)
}

describe('generateKeys', () => {
  it.each(kinds)('makes %o', async (kind) => {
    const { privateKey, publicKey } = await generateKeys(kind)
    expect(keyKind(privateKey, 'x')).toEqual(kind)
    expect(keyKind(publicKey, 'x')).toEqual(kind)
    expect(keyFingerprint(privateKey)).toBe(keyFingerprint(publicKey))
    expect(keyFingerprint(readPrivateKey(privateKeyPem(privateKey), 'x'))).toBe(keyFingerprint(publicKey))
  })

  it('makes P-256 unless told otherwise, each time another', async () => {
    const [a, b] = await Promise.all([generateKeys(), generateKeys()])
    expect(keyKind(a.privateKey, 'x')).toEqual({ type: 'ec', curve: 'P-256' })
    expect(keyFingerprint(a.privateKey)).not.toBe(keyFingerprint(b.privateKey))
  })

  it('refuses short RSA keys', async () => {
    await expect(generateKeys({ type: 'rsa', bits: 1024 })).rejects.toMatchObject({ code: 'weak-key' })
  })
})

describe('readPrivateKey', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

  it.each([
    ['SEC1', ec, 'sec1'],
    ['PKCS#1', rsa, 'pkcs1'],
    ['PKCS#8 EC', ec, 'pkcs8'],
    ['PKCS#8 RSA', rsa, 'pkcs8'],
  ] as const)('reads %s', (_, key, type) => {
    expect(keyFingerprint(readPrivateKey(key.export({ type, format: 'pem' }), 'x'))).toBe(keyFingerprint(key))
  })

  it('passes over a certificate in the same file', async () => {
    const { certificate } = await certificateOf(ec)
    expect(
      keyMatchesCertificate(readPrivateKey(certificatePem(certificate) + privateKeyPem(ec), 'x'), certificate),
    ).toBe(true)
    expect(keyMatchesCertificate(rsa, certificate)).toBe(false)
  })

  const passphrase = { cipher: 'aes-256-cbc', passphrase: 'secret' }
  it.each([
    ['encrypted-key', rsa.export({ type: 'pkcs8', format: 'pem', ...passphrase })],
    ['encrypted-key', rsa.export({ type: 'pkcs1', format: 'pem', ...passphrase })],
    ['none-found', publicKeyPem(ec)],
    ['none-found', ''],
    ['none-found', 'no key at all'],
    ['several-found', privateKeyPem(ec) + privateKeyPem(rsa)],
    ['malformed-pem', privateKeyPem(ec).replace('-----END', '----END')],
    ['malformed-key', '-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n'],
    ['malformed-key', writePem('EC PRIVATE KEY', ec.export({ type: 'sec1', format: 'der' }).subarray(0, 40))],
    ['unsupported-key', privateKeyPem(ec).replaceAll('PRIVATE', 'OPENSSH PRIVATE')],
    ['unsupported-key', privateKeyPem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey)],
    ['unsupported-key', privateKeyPem(generateKeyPairSync('x25519').privateKey)],
    ['weak-key', privateKeyPem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)],
  ])('%s', (code, pem) => {
    expect(codeOf(() => readPrivateKey(pem, 'edge.key'))).toBe(code)
    expect(() => readPrivateKey(pem, 'edge.key')).toThrow(/edge\.key/)
  })

  it('says what it found instead', () => {
    expect(() => readPrivateKey(publicKeyPem(ec), 'ca.key')).toThrow(
      'ca.key holds only a "PUBLIC KEY" where a private key is expected',
    )
  })
})

describe('readPublicKeys', () => {
  it('takes public keys, private keys and certificates', async () => {
    const [a, b, c] = await Promise.all([generateKeys(), generateKeys({ type: 'rsa', bits: 2048 }), generateKeys()])
    const { certificate } = await certificateOf(c.privateKey)
    const pkcs1 = b.publicKey.export({ type: 'pkcs1', format: 'pem' })
    const pem = publicKeyPem(a.publicKey) + pkcs1 + privateKeyPem(a.privateKey) + certificatePem(certificate)
    const expected = [a, b, a, c].map(({ publicKey }) => keyFingerprint(publicKey))
    expect(readPublicKeys(pem, 'x').map((key) => keyFingerprint(key))).toEqual(expected)
  })

  it('refuses what is none', () => {
    expect(codeOf(() => readPublicKeys('', 'x'))).toBe('none-found')
    expect(codeOf(() => readPublicKeys('-----BEGIN PUBLIC KEY-----\naGVsbG8=\n-----END PUBLIC KEY-----\n', 'x'))).toBe(
      'malformed-key',
    )
  })
})

describe.runIf(hasOpenssl)('keys made by openssl', () => {
  it.each([
    ['ecparam -name prime256v1 -genkey', { type: 'ec', curve: 'P-256' }],
    ['ecparam -name secp384r1 -genkey -noout', { type: 'ec', curve: 'P-384' }],
    ['genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521', { type: 'ec', curve: 'P-521' }],
    ['genrsa -traditional 2048', { type: 'rsa', bits: 2048 }],
    ['genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072', { type: 'rsa', bits: 3072 }],
    ['genpkey -algorithm ED25519', { type: 'ed25519' }],
  ])('%s', (command, kind) => {
    const pem = execFileSync('openssl', command.split(' '), { stdio: ['ignore', 'pipe', 'ignore'] })
    expect(keyKind(readPrivateKey(pem, 'x'), 'x')).toEqual(kind)
  })
})
