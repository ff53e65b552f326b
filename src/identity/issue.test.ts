import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { type Certificate, certificatePem, parseCertificate, readCertificates } from './certificate.ts'
import { userName } from './distinguished-name.ts'
import {
  type CertificateAuthority,
  type CertificateTemplate,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from './issue.ts'
import { generateKeys, type KeyKind, type KeyPair, keyMatchesCertificate } from './keys.ts'
import { KEY_USAGES } from './usages.ts'
import { verifyCertificate } from './verify.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const DAY_MS = 86_400_000
const clock = new ManualClock()
const life = validityFromNow(clock, 30 * DAY_MS)
const leafTemplate: CertificateTemplate = {
  ...validityFromNow(clock, DAY_MS),
  subject: userName('system:node:edge-1', ['system:nodes']),
  keyUsages: ['digitalSignature'],
  extendedKeyUsages: ['clientAuth', 'serverAuth'],
  names: { dnsNames: ['edge-1', 'kubernetes.default'], ipAddresses: ['169.254.30.10', '::1'] },
}

let authority: CertificateAuthority
let keys: KeyPair
beforeAll(async () => {
  authority = await issueSelfSignedCa({ ...life, subject: userName('test-ca') }, (await generateKeys()).privateKey)
  keys = await generateKeys()
})

function issue(template: Partial<CertificateTemplate> = {}, by = authority): Promise<Certificate> {
  return issueCertificate(by, { ...leafTemplate, ...template }, keys.publicKey)
}

describe('issueCertificate', () => {
  it('says what the template says, and no more', async () => {
    const certificate = await issue()
    expect(certificate).toMatchObject({
      subject: leafTemplate.subject,
      issuer: [{ type: 'CN', value: 'test-ca' }],
      notBeforeMs: leafTemplate.notBeforeMs,
      notAfterMs: leafTemplate.notAfterMs,
      isCa: false,
      pathLength: undefined,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: ['clientAuth', 'serverAuth'],
      names: { ...leafTemplate.names, uris: [], emailAddresses: [], otherKinds: [] },
      authorityKeyId: authority.certificate.subjectKeyId,
      unhandled: [],
    })
    expect(keyMatchesCertificate(keys.privateKey, certificate)).toBe(true)
    expect(readCertificates(certificatePem(certificate), 'x')[0].fingerprint).toBe(certificate.fingerprint)
  })

  it('gives every certificate a random serial number of 128 bits', async () => {
    const serials = await Promise.all(Array.from({ length: 20 }, async () => (await issue()).serialNumber))
    expect(new Set(serials).size).toBe(20)
    for (const serial of serials) expect(serial).toMatch(/^[89a-f][0-9a-f]{31}$/)
  })

  it('keeps every usage, date and path length through DER', async () => {
    const second = fc.integer({ min: -631_152_000, max: 253_402_300_798 })
    const template = fc.record({
      keyUsages: fc.subarray([...KEY_USAGES]),
      extendedKeyUsages: fc.subarray([
        'any',
        'serverAuth',
        'clientAuth',
        'codeSigning',
        '1.3.6.1.4.1.57683.9',
      ] as const),
      notBefore: second,
      seconds: fc.integer({ min: 1, max: 1e10 }),
      pathLength: fc.option(fc.nat(10), { nil: undefined }),
    })
    const { privateKey } = await generateKeys()
    await fc.assert(
      fc.asyncProperty(template, async ({ notBefore, seconds, pathLength, ...usages }) => {
        const notBeforeMs = notBefore * 1000
        const notAfterMs = Math.min(notBefore + seconds, 253_402_300_799) * 1000
        const keyUsages = [...new Set([...usages.keyUsages, 'keyCertSign' as const])]
        const ca = pathLength === undefined ? {} : { pathLength }
        const request = { ...ca, ...usages, keyUsages, notBeforeMs, notAfterMs, subject: userName('x') }
        const { certificate } = await issueSelfSignedCa(request, privateKey)
        const { extendedKeyUsages } = usages
        expect(certificate).toMatchObject({ notBeforeMs, notAfterMs, pathLength, isCa: true })
        expect([...(certificate.keyUsages ?? [])].sort()).toEqual(keyUsages.sort())
        expect(certificate.extendedKeyUsages).toEqual(extendedKeyUsages.length === 0 ? undefined : extendedKeyUsages)
      }),
      { numRuns: 40 },
    )
  })

  it('marks the names critical where there is no subject', async () => {
    const certificate = await issue({ subject: [] })
    expect(certificate.extensions.find(({ oid }) => oid === '2.5.29.17')?.critical).toBe(true)
    expect(certificate.subject).toEqual([])
  })

  it('refuses to outlive the CA, or caps the life where told to', async () => {
    const notAfterMs = life.notAfterMs + 1000
    await expect(issue({ notAfterMs })).rejects.toMatchObject({ code: 'outlives-ca' })
    const template = { ...leafTemplate, notAfterMs }
    const capped = await issueCertificate(authority, template, keys.publicKey, { ifOutlivesCa: 'cap' })
    expect(capped.notAfterMs).toBe(life.notAfterMs)
    const tooLate = { ...template, notBeforeMs: life.notAfterMs }
    await expect(issueCertificate(authority, tooLate, keys.publicKey, { ifOutlivesCa: 'cap' })).rejects.toMatchObject({
      code: 'outlives-ca',
    })
  })

  it('signs only with a CA, and with its own key', async () => {
    const leaf = { certificate: await issue(), privateKey: keys.privateKey }
    await expect(issue({}, leaf)).rejects.toMatchObject({ code: 'not-a-ca' })
    const wrongKey = { certificate: authority.certificate, privateKey: keys.privateKey }
    await expect(issue({}, wrongKey)).rejects.toMatchObject({ code: 'key-mismatch' })
  })

  it('respects the path length of the CA', async () => {
    const { privateKey } = await generateKeys()
    const narrow = await issueSelfSignedCa({ ...life, subject: userName('narrow'), pathLength: 1 }, privateKey)
    await expect(issue({ ca: {}, keyUsages: ['keyCertSign'] }, narrow)).rejects.toMatchObject({ code: 'path-too-long' })
    await expect(issue({ ca: { pathLength: 1 }, keyUsages: ['keyCertSign'] }, narrow)).rejects.toMatchObject({
      code: 'path-too-long',
    })
    const below = await issue({ ca: { pathLength: 0 }, keyUsages: ['keyCertSign'] }, narrow)
    expect(below).toMatchObject({ isCa: true, pathLength: 0 })
  })

  it.each<[string, Partial<CertificateTemplate>]>([
    ['ends before it begins', { notAfterMs: leafTemplate.notBeforeMs - 1 }],
    ['has no date', { notBeforeMs: Number.NaN }],
    ['begins before 1950', { notBeforeMs: Date.UTC(1949, 0) }],
    ['names nobody', { subject: [], names: {} }],
    ['has a bad DNS name', { names: { dnsNames: ['a b'] } }],
    ['is of a CA that may not sign', { ca: {} }],
    ['has a path length that is none', { ca: { pathLength: -1 }, keyUsages: ['keyCertSign'] }],
  ])('refuses a template that %s', async (_, template) => {
    await expect(issue(template)).rejects.toMatchObject({ name: 'IdentityError', code: 'invalid-template' })
  })

  it('copies the name of a CA byte by byte, however it is encoded', async () => {
    // The subject "CN=old" as UTF8String, where we would write PrintableString.
    const { certificate, privateKey } = authority
    const subjectDer = Buffer.from('300e310c300a06035504030c036f6c64', 'hex')
    const leaf = await issueCertificate(
      { certificate: { ...certificate, subjectDer }, privateKey },
      leafTemplate,
      keys.publicKey,
    )
    expect(leaf.issuerDer).toEqual(subjectDer)
  })
})

const caKinds: [string, KeyKind][] = [
  ['P-256', { type: 'ec', curve: 'P-256' }],
  ['P-384', { type: 'ec', curve: 'P-384' }],
  ['P-521', { type: 'ec', curve: 'P-521' }],
  ['RSA', { type: 'rsa', bits: 2048 }],
  ['Ed25519', { type: 'ed25519' }],
]

describe.each(caKinds)('a CA with a key of kind %s', (_, kind) => {
  let ca: CertificateAuthority
  beforeAll(async () => {
    ca = await issueSelfSignedCa({ ...life, subject: userName('ca of a kind') }, (await generateKeys(kind)).privateKey)
  })

  it('issues certificates that verify', async () => {
    const certificate = await issue({}, ca)
    const options = { trust: [ca.certificate], usage: 'clientAuth', atMs: clock.nowMs() } as const
    expect(verifyCertificate(certificate, options).ok).toBe(true)
    expect(certificate.x509.verify(ca.certificate.publicKey)).toBe(true)
  })

  it.runIf(hasOpenssl)('satisfies openssl verify, also across an intermediate CA', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'identity-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    const middleKeys = await generateKeys(kind)
    const template = { ...life, subject: userName('middle'), ca: { pathLength: 0 } }
    const middle = await issueCertificate(ca, template, middleKeys.publicKey)
    const leaf = await issue({}, { certificate: middle, privateKey: middleKeys.privateKey })
    const files = { root: ca.certificate, middle, leaf }
    for (const [name, certificate] of Object.entries(files))
      writeFileSync(join(folder, name), certificatePem(certificate))
    const time = String(clock.nowMs() / 1000)
    const paths = ['-CAfile', 'root', '-untrusted', 'middle', 'leaf']
    const options = ['-x509_strict', '-purpose', 'sslserver', '-verify_ip', '::1', '-verify_hostname', 'edge-1']
    const output = execFileSync('openssl', ['verify', '-attime', time, ...options, ...paths], { cwd: folder })
    expect(output.toString()).toBe('leaf: OK\n')
  })
})

describe.runIf(hasOpenssl)('certificates made by openssl', () => {
  it('are read as openssl shows them', () => {
    const folder = mkdtempSync(join(tmpdir(), 'identity-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    const names = 'DNS:a.example,IP:10.0.0.1,IP:fe80::1,URI:spiffe://a/b,email:a@example.org,dirName:dir'
    const config = [
      '[req]\ndistinguished_name=dn\nx509_extensions=ext\nprompt=no\n[dn]\nC=DE\nO=one\n1.O=two\nCN=Käse',
      `[ext]\nbasicConstraints=critical,CA:true,pathlen:3\nkeyUsage=critical,keyCertSign,cRLSign\nextendedKeyUsage=OCSPSigning,1.2.3.4`,
      `subjectAltName=${names}\nnameConstraints=permitted;DNS:example\n[dir]\nCN=dir`,
    ]
    writeFileSync(join(folder, 'c.cnf'), config.join('\n'))
    const options = '-x509 -newkey rsa:2048 -nodes -keyout key -config c.cnf -utf8 -set_serial 0x00abc -days 99999'
    const pem = execFileSync('openssl', ['req', ...options.split(' ')], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    expect(readCertificates(pem, 'x')[0]).toMatchObject({
      subject: [
        { type: 'C', value: 'DE' },
        { type: 'O', value: 'one' },
        { type: 'O', value: 'two' },
        { type: 'CN', value: 'Käse' },
      ],
      serialNumber: 'abc',
      isCa: true,
      pathLength: 3,
      keyUsages: ['keyCertSign', 'cRLSign'],
      extendedKeyUsages: ['ocspSigning', '1.2.3.4'],
      names: {
        dnsNames: ['a.example'],
        ipAddresses: ['10.0.0.1', 'fe80::1'],
        uris: ['spiffe://a/b'],
        emailAddresses: ['a@example.org'],
        otherKinds: ['directoryName'],
      },
      unhandled: ['2.5.29.30'],
    })
  })
})

describe('readCertificates', () => {
  it('reads bundles and says which certificate is bad', async () => {
    const leaf = await issue()
    const bundle = certificatePem(leaf, authority.certificate)
    expect(readCertificates(bundle, 'ca.crt').map(({ fingerprint }) => fingerprint)).toEqual([
      leaf.fingerprint,
      authority.certificate.fingerprint,
    ])
    const bad = `${bundle}-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n`
    expect(() => readCertificates(bad, 'ca.crt')).toThrow('certificate 3 of ca.crt does not have the right structure')
    expect(() => readCertificates('', 'ca.crt')).toThrow('ca.crt holds no certificate')
  })

  it('refuses an oversized certificate before looking at it', () => {
    expect(() => parseCertificate(new Uint8Array(70_000))).toThrow(expect.objectContaining({ code: 'too-large' }))
  })
})
