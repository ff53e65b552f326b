import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { type Certificate, parseCertificate } from './certificate.ts'
import { userName } from './distinguished-name.ts'
import {
  type CertificateAuthority,
  type CertificateTemplate,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from './issue.ts'
import { generateKeys } from './keys.ts'
import { MAX_CHAIN_LENGTH, MAX_SIGNATURE_CHECKS, type VerificationOptions, verifyCertificate } from './verify.ts'

const DAY_MS = 86_400_000
const clock = new ManualClock()
const nowMs = clock.nowMs()
const caLife = { notBeforeMs: nowMs - DAY_MS, notAfterMs: nowMs + 100 * DAY_MS }
const leafLife = validityFromNow(clock, DAY_MS)

async function makeCa(name = 'ca', template: Partial<CertificateTemplate> = {}): Promise<CertificateAuthority> {
  return await issueSelfSignedCa({ ...caLife, subject: userName(name), ...template }, (await generateKeys()).privateKey)
}

async function makeLeaf(by: CertificateAuthority, template: Partial<CertificateTemplate> = {}): Promise<Certificate> {
  const all = { ...leafLife, subject: userName('leaf'), extendedKeyUsages: ['clientAuth'] as const, ...template }
  return await issueCertificate(by, all, (await generateKeys()).publicKey)
}

async function makeMiddle(
  by: CertificateAuthority,
  name: string,
  template: Partial<CertificateTemplate> = {},
): Promise<CertificateAuthority> {
  const { privateKey, publicKey } = await generateKeys()
  const all = { ...caLife, subject: userName(name), ca: {}, ...template }
  return { certificate: await issueCertificate(by, all, publicKey), privateKey }
}

/** Signs whatever it is told to, as a careless or hostile CA would. */
function lawless({
  certificate,
  privateKey,
}: {
  certificate: Certificate
  privateKey: KeyObject
}): CertificateAuthority {
  const { keyUsages: _, ...rest } = certificate
  return {
    certificate: { ...rest, keyUsages: undefined, isCa: true, pathLength: undefined, notAfterMs: 9e12 },
    privateKey,
  }
}

let ca: CertificateAuthority
beforeAll(async () => {
  ca = await makeCa()
})

function outcome(certificate: Certificate, options: Partial<VerificationOptions> = {}): string[] {
  const verification = verifyCertificate(certificate, {
    trust: [ca.certificate],
    usage: 'clientAuth',
    atMs: nowMs,
    ...options,
  })
  if (verification.ok) return verification.chain.map(({ subject }) => subject[0]?.value ?? '')
  expect(verification.reason).toBe(verification.failures[0]?.reason)
  expect(verification.message).toBe(verification.failures[0]?.message)
  return verification.failures.map(({ reason }) => reason)
}

describe('the chain', () => {
  it('leads to a trusted CA', async () => {
    expect(outcome(await makeLeaf(ca))).toEqual(['leaf', 'ca'])
  })

  it('leads there across intermediates, in whatever order they come', async () => {
    const upper = await makeMiddle(ca, 'upper')
    const lower = await makeMiddle(upper, 'lower')
    const leaf = await makeLeaf(lower)
    for (const order of [
      [upper, lower],
      [lower, upper],
    ]) {
      const intermediates = order.map(({ certificate }) => certificate)
      expect(outcome(leaf, { intermediates })).toEqual(['leaf', 'lower', 'upper', 'ca'])
    }
    expect(outcome(leaf, { intermediates: [upper.certificate] })).toEqual(['untrusted'])
    expect(outcome(leaf, { trust: [lower.certificate] })).toEqual(['leaf', 'lower'])
  })

  it('finds its way through a bundle of old and new CAs of one name, and through cross-signing', async () => {
    const renewed = await makeCa()
    const leaf = await makeLeaf(renewed)
    expect(outcome(leaf, { trust: [ca.certificate, renewed.certificate] })).toEqual(['leaf', 'ca'])
    const { subject } = renewed.certificate
    const crossSigned = await issueCertificate(ca, { ...caLife, subject, ca: {} }, renewed.certificate.publicKey)
    expect(outcome(leaf, { intermediates: [crossSigned] })).toEqual(['leaf', 'ca', 'ca'])
  })

  it('may be a single certificate that is itself trusted, for its usage', async () => {
    const leaf = await makeLeaf(ca)
    expect(outcome(leaf, { trust: [leaf] })).toEqual(['leaf'])
    expect(outcome(leaf, { trust: [leaf], usage: 'serverAuth' })).toEqual(['wrong-usage'])
  })

  it('does not lead to a CA that the peer only sent along', async () => {
    const foreign = await makeCa('foreign')
    expect(outcome(await makeLeaf(foreign), { intermediates: [foreign.certificate] })).toEqual(['untrusted'])
    expect(outcome(await makeLeaf(ca), { trust: [] })).toEqual(['untrusted'])
  })

  it('does not lead to another CA of the same name', async () => {
    expect(outcome(await makeLeaf(await makeCa()))).toEqual(['untrusted'])
  })

  it('breaks where a signature is forged', async () => {
    const impostor = await makeCa()
    const { subjectKeyId } = ca.certificate
    const forger = { ...impostor, certificate: { ...impostor.certificate, subjectKeyId } }
    expect(outcome(await makeLeaf(forger))).toEqual(['bad-signature'])
  })

  it('breaks where a byte of the signature is changed', async () => {
    const der = Buffer.from((await makeLeaf(ca)).der)
    der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
    expect(outcome(parseCertificate(der))).toEqual(['bad-signature'])
  })

  it('breaks at a certificate that is not a CA', async () => {
    const { privateKey, publicKey } = await generateKeys()
    const template = { ...caLife, subject: userName('edge'), extendedKeyUsages: ['clientAuth'] as const }
    const edge = { certificate: await issueCertificate(ca, template, publicKey), privateKey }
    const leaf = await makeLeaf(lawless(edge))
    expect(outcome(leaf, { intermediates: [edge.certificate] })).toEqual(['not-a-ca'])
  })

  it('breaks at a path that is longer than allowed', async () => {
    const narrow = await makeCa('narrow', { ca: { pathLength: 0 } })
    const limited = await issueSelfSignedCa({ ...caLife, subject: userName('l'), pathLength: 0 }, narrow.privateKey)
    const middle = await makeMiddle(lawless(limited), 'middle')
    const leaf = await makeLeaf(middle)
    const options = { trust: [limited.certificate], intermediates: [middle.certificate] }
    expect(outcome(leaf, options)).toEqual(['path-too-long'])
    expect(outcome(await makeLeaf(limited), { trust: [limited.certificate] })).toEqual(['leaf', 'l'])
  })

  it('breaks at a CA that is out of its dates, grace or not', async () => {
    const leaf = await makeLeaf(lawless(ca), { notAfterMs: nowMs + 300 * DAY_MS })
    expect(outcome(leaf, { atMs: nowMs + 200 * DAY_MS, graceMs: 1e12 })).toEqual(['expired'])
    expect(outcome(leaf, { atMs: caLife.notBeforeMs - 1 })).toEqual(['not-yet-valid', 'not-yet-valid'])
  })

  it('breaks at a CA that is limited to another usage', async () => {
    const servers = await makeMiddle(ca, 'servers', { extendedKeyUsages: ['serverAuth'] })
    expect(outcome(await makeLeaf(servers), { intermediates: [servers.certificate] })).toEqual(['wrong-usage'])
  })

  it('has an end', async () => {
    const chain = [ca]
    while (chain.length < MAX_CHAIN_LENGTH) chain.push(await makeMiddle(chain.at(-1) ?? ca, `ca ${chain.length}`))
    const intermediates = chain.map(({ certificate }) => certificate)
    expect(outcome(await makeLeaf(chain.at(-2) ?? ca), { intermediates })).toHaveLength(MAX_CHAIN_LENGTH)
    expect(outcome(await makeLeaf(chain.at(-1) ?? ca), { intermediates })).toEqual(['path-too-long'])
  })

  it('is not searched for ever', async () => {
    const others = await Promise.all(Array.from({ length: MAX_SIGNATURE_CHECKS + 1 }, () => makeCa()))
    const trust = others.map(({ certificate }) => certificate)
    const leaf = await makeLeaf(ca)
    expect(outcome(leaf, { trust })[0]).toBe('too-complex')
    expect(outcome(leaf, { trust: [ca.certificate, ...trust] })).toEqual(['leaf', 'ca'])
  })

  it('goes round no circle', async () => {
    const [a, b] = await Promise.all([makeCa('a'), makeCa('b')])
    const aByB = await issueCertificate(b, { ...caLife, subject: userName('a'), ca: {} }, a.certificate.publicKey)
    const bByA = await issueCertificate(a, { ...caLife, subject: userName('b'), ca: {} }, b.certificate.publicKey)
    expect(outcome(await makeLeaf(a), { intermediates: [aByB, bByA] })).toEqual(['untrusted'])
  })
})

describe('dates', () => {
  it('include the last second and no more, unless there is grace', async () => {
    const leaf = await makeLeaf(ca)
    const end = leaf.notAfterMs
    expect(outcome(leaf, { atMs: end + 999 })).toEqual(['leaf', 'ca'])
    expect(outcome(leaf, { atMs: end + 1000 })).toEqual(['expired'])
    expect(outcome(leaf, { atMs: end + 1000, graceMs: 5000 })).toEqual(['leaf', 'ca'])
    expect(outcome(leaf, { atMs: end + 6000, graceMs: 5000 })).toEqual(['expired'])
    expect(outcome(leaf, { atMs: leaf.notBeforeMs })).toEqual(['leaf', 'ca'])
    expect(outcome(leaf, { atMs: leaf.notBeforeMs - 1, graceMs: 5000 })).toEqual(['not-yet-valid'])
  })

  it('must be numbers to be inside any life', async () => {
    const leaf = await makeLeaf(ca)
    expect(outcome(leaf, { atMs: Number.NaN })).toEqual(['not-yet-valid', 'not-yet-valid'])
    expect(outcome(leaf, { graceMs: Number.NaN })).toEqual(['expired'])
  })

  it('tell how long the grace was used', async () => {
    const leaf = await makeLeaf(ca)
    const options = { trust: [ca.certificate], usage: 'clientAuth', graceMs: 5000 } as const
    expect(verifyCertificate(leaf, { ...options, atMs: nowMs })).toMatchObject({ expiredForMs: 0 })
    expect(verifyCertificate(leaf, { ...options, atMs: leaf.notAfterMs + 2999 })).toMatchObject({ expiredForMs: 2000 })
  })

  it('never hide a worse fault', async () => {
    const foreign = await makeLeaf(await makeCa('foreign'))
    expect(outcome(foreign, { atMs: foreign.notAfterMs + DAY_MS })).toEqual(['untrusted', 'expired'])
    const server = await makeLeaf(ca, { extendedKeyUsages: ['serverAuth'] })
    expect(outcome(server, { atMs: server.notAfterMs + DAY_MS, graceMs: 9e9 })).toEqual(['wrong-usage'])
    expect(outcome(server, { atMs: server.notAfterMs + DAY_MS })).toEqual(['wrong-usage', 'expired'])
  })
})

describe('usages', () => {
  it('must include the one asked for', async () => {
    expect(outcome(await makeLeaf(ca), { usage: 'serverAuth' })).toEqual(['wrong-usage'])
    expect(outcome(await makeLeaf(ca, { extendedKeyUsages: ['any'] }))).toEqual(['leaf', 'ca'])
  })

  it('that are absent are refused unless told otherwise', async () => {
    const leaf = await makeLeaf(ca, { extendedKeyUsages: [] })
    expect(outcome(leaf)).toEqual(['wrong-usage'])
    expect(outcome(leaf, { ifUsageAbsent: 'accept' })).toEqual(['leaf', 'ca'])
  })
})

describe('hosts', () => {
  it('are matched by the alternative names alone', async () => {
    const names = { dnsNames: ['hub.example', '*.edge.example'], ipAddresses: ['10.0.0.1', 'fe80::1'] }
    const extendedKeyUsages = ['serverAuth'] as const
    const leaf = await makeLeaf(ca, { subject: userName('other.example'), names, extendedKeyUsages })
    const at = (host: string) => outcome(leaf, { usage: 'serverAuth', host })
    for (const host of ['hub.example', 'HUB.example', 'a.edge.example', '10.0.0.1', 'fe80:0::1'])
      expect(at(host)).toEqual(['other.example', 'ca'])
    for (const host of [
      'other.example',
      'edge.example',
      'a.b.edge.example',
      '10.0.0.2',
      '',
      'hub.example.evil',
      '.example',
      'hub.example\0',
      'fe80::1%lo',
    ])
      expect(at(host)).toEqual(['wrong-host'])
  })
})

describe('what we do not understand or trust', () => {
  it('is refused', async () => {
    const leaf = await makeLeaf(ca)
    expect(outcome({ ...leaf, unhandled: ['2.5.29.30'] })).toEqual(['unsupported'])
    expect(outcome({ ...leaf, signatureAlgorithm: '1.2.840.113549.1.1.5' })).toEqual(['unsupported'])
  })
})

it('reads no error text of any library', () => {
  const source = readFileSync(new URL('./verify.ts', import.meta.url), 'utf8')
  expect(source).not.toMatch(/authorizationError|\.message\.(?:includes|match)|ERR_TLS|CERT_/)
})
