import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  checkChainPrice,
  MAX_CONSTRAINED_CERTIFICATE_BYTES,
  MAX_HANDSHAKE_CERTIFICATE_BYTES,
  MAX_HANDSHAKE_CERTIFICATES,
  MAX_HANDSHAKE_RSA_BITS,
} from './chain-price.ts'

function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...contents: Buffer[]): Buffer => der(0x30, ...contents)
const integer = (bytes: Buffer): Buffer => der(0x02, bytes)

/** The bones of a certificate, around a key. */
function certificate(key: Buffer, { version = true, filling = 0 } = {}): Buffer {
  const names = sequence(Buffer.alloc(filling))
  const before = [...(version ? [der(0xa0, integer(Buffer.of(2)))] : []), integer(Buffer.of(1)), sequence()]
  return sequence(sequence(...before, names, sequence(), names, key), sequence(), der(0x03, Buffer.of(0)))
}

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })
const ec = (namedCurve: string): Buffer => spki(generateKeyPairSync('ec', { namedCurve }).publicKey)

function rsa(modulusBits: number, exponent: Buffer): Buffer {
  const oid = der(0x06, Buffer.from('2a864886f70d010101', 'hex'))
  const modulus = integer(Buffer.concat([Buffer.of(0), Buffer.alloc(modulusBits / 8, 0xff)]))
  return sequence(sequence(oid, der(0x05)), der(0x03, Buffer.of(0), sequence(modulus, integer(exponent))))
}

const usual = Buffer.from([1, 0, 1])

describe('a chain that may be checked', () => {
  it.each([
    ['none', []],
    ['P-256', [certificate(ec('P-256'))]],
    ['P-384, without a version', [certificate(ec('P-384'), { version: false })]],
    ['P-521', [certificate(ec('P-521'))]],
    ['Ed25519', [certificate(spki(generateKeyPairSync('ed25519').publicKey))]],
    ['RSA as it is used', [certificate(spki(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey))]],
    ['the largest RSA', [certificate(rsa(MAX_HANDSHAKE_RSA_BITS, usual))]],
    ['as many as may be', Array.from({ length: MAX_HANDSHAKE_CERTIFICATES }, () => certificate(ec('P-256')))],
  ])('%s', (_name, chain) => {
    expect(() => checkChainPrice(chain)).not.toThrow()
  })
})

describe('a chain that is refused', () => {
  const small = certificate(ec('P-256'))

  it.each<[string, Buffer[], string]>([
    ['too many', Array.from({ length: MAX_HANDSHAKE_CERTIFICATES + 1 }, () => small), 'certificates are presented'],
    ['too large', [certificate(ec('P-256'), { filling: MAX_HANDSHAKE_CERTIFICATE_BYTES / 2 })], 'bytes are presented'],
    [
      'names and constraints of them, to be compared each with each',
      [
        certificate(
          Buffer.concat([
            ec('P-256'),
            Buffer.from('0603551d1e', 'hex'),
            Buffer.alloc(MAX_CONSTRAINED_CERTIFICATE_BYTES),
          ]),
        ),
      ],
      'with constraints of names',
    ],
    [
      'DSA',
      [certificate(spki(generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }).publicKey))],
      'neither RSA nor',
    ],
    [
      'RSA-PSS',
      [certificate(spki(generateKeyPairSync('rsa-pss', { modulusLength: 1024 }).publicKey))],
      'neither RSA nor',
    ],
    ['a curve that nobody uses', [certificate(ec('secp256k1'))], 'a curve other than P-256'],
    [
      'a curve of its own',
      [certificate(spki(generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' }).publicKey))],
      'a curve other than P-256',
    ],
    ['a huge RSA key', [certificate(rsa(MAX_HANDSHAKE_RSA_BITS + 8, usual))], 'an RSA key of more than'],
    ['a long exponent', [certificate(rsa(2048, Buffer.alloc(256, 0x7f)))], 'an exponent of more than'],
    ['a bad one behind a good one', [small, certificate(rsa(2048, Buffer.alloc(9, 0x7f)))], 'an exponent of more than'],
    ['nothing at all', [Buffer.alloc(0)], 'malformed'],
    ['an indefinite length', [Buffer.from([0x30, 0x80, 0, 0])], 'malformed'],
    ['a length beyond its end', [small.subarray(0, -1)], 'malformed'],
    ['a length that no certificate has', [Buffer.from([0x30, 0x85, 0, 0, 0, 0, 1, 0])], 'malformed'],
  ])('%s', (_name, chain, message) => {
    expect(() => checkChainPrice(chain)).toThrow(message)
  })

  it('whatever byte of it is another', () => {
    for (let at = 0; at < small.length; at += 1)
      for (const value of [0, 0x7f, 0x80, 0xff]) {
        const bytes = Buffer.from(small)
        bytes[at] = value
        try {
          checkChainPrice([bytes])
        } catch (error) {
          expect(error).toMatchObject({ name: 'HandshakeRefusal' })
        }
      }
  })
})
