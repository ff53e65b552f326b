/** Whatever bytes come in, nothing but `IdentityError` comes out, and nothing takes long. */
import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { decodeAlternativeNames } from './alternative-names.ts'
import { certificatePem, parseCertificate, readCertificates } from './certificate.ts'
import { createRequest, parseRequest, readRequest } from './csr.ts'
import { userName } from './distinguished-name.ts'
import { IdentityError } from './errors.ts'
import { issueSelfSignedCa } from './issue.ts'
import { generateKeys, privateKeyPem, readPrivateKey, readPublicKeys } from './keys.ts'
import { readPem, writePem } from './pem.ts'
import { decodeExtendedKeyUsages, decodeKeyUsages } from './usages.ts'
import { verifyCertificate } from './verify.ts'

let certificate: Buffer
let request: Buffer
let key: Buffer
let pem: string
beforeAll(async () => {
  const { privateKey } = await generateKeys()
  const names = { dnsNames: ['a.example'], ipAddresses: ['::1'], uris: ['spiffe://a'], emailAddresses: ['a@b'] }
  const template = { subject: userName('käse', ['o']), names, notBeforeMs: 0, notAfterMs: 1e12, pathLength: 2 }
  const ca = await issueSelfSignedCa({ ...template, extendedKeyUsages: ['any'] }, privateKey)
  certificate = ca.certificate.der
  const requestPem = await createRequest({ subject: userName('x', ['y']), names }, privateKey)
  request = readPem(requestPem, 'x')[0]?.der ?? Buffer.alloc(0)
  key = privateKey.export({ type: 'pkcs8', format: 'der' })
  pem = certificatePem(ca.certificate) + requestPem + privateKeyPem(privateKey)
})

async function survives(work: () => unknown): Promise<void> {
  try {
    await work()
  } catch (error) {
    expect(error).toBeInstanceOf(IdentityError)
  }
}

async function feed(bytes: Uint8Array): Promise<void> {
  await survives(() => parseCertificate(bytes))
  await survives(() => parseRequest(bytes))
  await survives(() => decodeAlternativeNames(bytes, 'x'))
  await survives(() => decodeKeyUsages(bytes, 'x'))
  await survives(() => decodeExtendedKeyUsages(bytes, 'x'))
}

const edit = fc.record({ at: fc.nat(), drop: fc.nat(4), insert: fc.uint8Array({ maxLength: 4 }) })
const edits = fc.array(edit, { minLength: 1, maxLength: 3 })
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never

function edited(bytes: Buffer, changes: readonly Edit[]): Buffer {
  return changes.reduce((current, { at, drop, insert }) => {
    const start = at % (current.length + 1)
    return Buffer.concat([current.subarray(0, start), insert, current.subarray(start + drop)])
  }, bytes)
}

describe('hostile input', () => {
  it('random bytes', async () => {
    await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), feed))
  })

  it('edited certificates and requests', async () => {
    await fc.assert(
      fc.asyncProperty(edits, async (changes) => {
        await feed(edited(certificate, changes))
        await feed(edited(request, changes))
      }),
      { numRuns: 300 },
    )
  })

  it('every changed byte of an EC key: none may end the process', () => {
    // With some of these Node's own look at the key's details runs into an assertion. The long run tries every value.
    const step = process.env['CAUSEWAY_LONG'] === '1' ? 1 : 17
    for (let index = 0; index < key.length; index++) {
      for (let byte = index % step; byte < 256; byte += step) {
        const changed = Buffer.from(key)
        changed[index] = byte
        try {
          readPrivateKey(writePem('PRIVATE KEY', changed), 'the key')
        } catch (error) {
          expect(error).toBeInstanceOf(IdentityError)
        }
      }
    }
  })

  it('every flipped byte of a certificate, which then must not verify', async () => {
    const original = parseCertificate(certificate)
    const options = { trust: [original], usage: 'clientAuth', atMs: 1000 } as const
    expect(verifyCertificate(original, options).ok).toBe(true)
    for (let at = 0; at < certificate.length; at++) {
      for (const flip of [0x01, 0x80]) {
        const changed = Buffer.from(certificate)
        changed[at] = (changed[at] ?? 0) ^ flip
        await survives(() => expect(verifyCertificate(parseCertificate(changed), options).ok).toBe(false))
      }
    }
  })

  it('every truncation', async () => {
    for (let length = 0; length < certificate.length; length++)
      expect(() => parseCertificate(certificate.subarray(0, length))).toThrow(IdentityError)
    for (let length = 0; length < request.length; length++)
      await expect(parseRequest(request.subarray(0, length))).rejects.toBeInstanceOf(IdentityError)
  })

  it('bytes after the end', async () => {
    expect(() => parseCertificate(Buffer.concat([certificate, Buffer.of(0)]))).toThrow(IdentityError)
    await expect(parseRequest(Buffer.concat([request, request]))).rejects.toBeInstanceOf(IdentityError)
  })

  it('values nested ten thousand deep', async () => {
    let deep: Buffer = Buffer.from('0500', 'hex')
    while (deep.length < 12_000) {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(deep.length)
      const header = deep.length < 128 ? [deep.length] : deep.length < 256 ? [0x81, deep.length] : [0x82, ...length]
      deep = Buffer.concat([Buffer.of(0x30, ...header), deep])
    }
    await feed(deep)
    await feed(Buffer.alloc(60_000, 0x30))
    await feed(Buffer.alloc(60_000, Buffer.from('3080', 'hex')))
  })

  it('edited PEM and keys', async () => {
    await fc.assert(
      fc.asyncProperty(edits, async (changes) => {
        const text = edited(Buffer.from(pem), changes)
        await survives(() => readCertificates(text, 'x'))
        await survives(() => readRequest(text, 'x'))
        await survives(() => readPrivateKey(text, 'x'))
        await survives(() => readPublicKeys(text, 'x'))
        const changedKey = edited(key, changes).toString('base64')
        await survives(() =>
          readPrivateKey(`-----BEGIN PRIVATE KEY-----\n${changedKey}\n-----END PRIVATE KEY-----\n`, 'x'),
        )
      }),
    )
  })
})
