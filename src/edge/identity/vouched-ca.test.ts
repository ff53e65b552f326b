import { beforeAll, describe, expect, it } from 'vitest'
import { DAY_MS, makeCa } from '../../../test/worlds/edge-hub.ts'
import { type Certificate, parseCertificate } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  type CertificateTemplate,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../identity/issue.ts'
import { generateKeys } from '../../identity/keys.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { isVouchedFor } from './vouched-ca.ts'

const clock = new ManualClock(Date.UTC(2026, 0, 1))
const atMs = clock.nowMs()
const life = validityFromNow(clock, 365 * DAY_MS)
const caKeyUsages = ['keyCertSign', 'cRLSign'] as const
let old: CertificateAuthority
let next: CertificateAuthority
let evil: CertificateAuthority
/** What somebody has who stole the key of the hub's server certificate. */
let server: CertificateAuthority
beforeAll(async () => {
  ;[old, next, evil] = await Promise.all([makeCa(clock, 'old'), makeCa(clock, 'next'), makeCa(clock, 'next')])
  const { privateKey, publicKey } = await generateKeys()
  const template = { subject: userName('hub'), extendedKeyUsages: ['serverAuth'] as const, ...life }
  server = { certificate: await issueCertificate(old, template, publicKey), privateKey }
})

async function cross(by: CertificateAuthority, of: CertificateAuthority, template: Partial<CertificateTemplate> = {}) {
  const { subject, publicKey } = of.certificate
  const all = { subject, ca: {}, keyUsages: caKeyUsages, ...life, ...template }
  return await issueCertificate(by, all, publicKey, { ifOutlivesCa: 'cap' })
}

/** As `cross`, by somebody who may sign nothing, and does. */
async function forged(by: CertificateAuthority, of: CertificateAuthority): Promise<Certificate> {
  return await cross({ ...by, certificate: { ...by.certificate, isCa: true, keyUsages: undefined } }, of)
}

const isTrusted = (
  ca: Certificate,
  vouchers: readonly Certificate[],
  trusted = [old.certificate],
  at = atMs,
): boolean => isVouchedFor(ca, { trusted, vouchers, atMs: at })

describe('a CA that the hub names', () => {
  it('is good if it is trusted already, whatever else comes', () => {
    expect(isTrusted(old.certificate, [])).toBe(true)
  })

  it('is good if a trusted CA has certified its name and key as those of a CA', async () => {
    expect(isTrusted(next.certificate, [await cross(old, next)])).toBe(true)
  })

  it('is good if trusted CAs vouch for it one after the other', async () => {
    const last = await makeCa(clock, 'last')
    const vouchers = [await cross(next, last), await cross(old, next)]
    expect(isTrusted(last.certificate, vouchers)).toBe(true)
    expect(isTrusted(last.certificate, vouchers.slice(0, 1))).toBe(false)
  })

  it('is good if a trusted CA has signed the very certificate', async () => {
    expect(isTrusted(await cross(old, next), [])).toBe(true)
  })

  it('is a stranger without a word for it', () => {
    expect(isTrusted(next.certificate, [])).toBe(false)
    expect(isTrusted(next.certificate, [old.certificate, server.certificate])).toBe(false)
  })

  it('is a stranger if the word is for another key of the same name', async () => {
    expect(isTrusted(evil.certificate, [await cross(old, next)])).toBe(false)
  })

  it('is a stranger if the word is for another name of the same key', async () => {
    expect(isTrusted(next.certificate, [await cross(old, next, { subject: userName('other') })])).toBe(false)
  })

  it('is a stranger if it vouches for itself, or one that it vouches for does', async () => {
    const helper = await makeCa(clock, 'helper')
    expect(isTrusted(evil.certificate, [await cross(evil, evil)])).toBe(false)
    expect(isTrusted(evil.certificate, [await cross(helper, evil), await cross(evil, helper)])).toBe(false)
  })

  it('is a stranger if the word is by the holder of a server certificate', async () => {
    expect(isTrusted(evil.certificate, [await forged(server, evil), server.certificate])).toBe(false)
  })

  it('is a stranger if the word only bears the name of a trusted CA', async () => {
    const twin = await makeCa(clock, 'old')
    expect(isTrusted(evil.certificate, [await cross(twin, evil)])).toBe(false)
    const signature = await cross(old, next)
    const broken = Buffer.from(signature.der)
    broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1
    expect(isTrusted(next.certificate, [parseCertificate(broken)])).toBe(false)
  })

  it('is a stranger if the word is not about a CA', async () => {
    const { subject, publicKey } = next.certificate
    const plain = await issueCertificate(old, { subject, ...life }, publicKey)
    expect(isTrusted(next.certificate, [plain])).toBe(false)
    const mayNotSign = { ...(await cross(old, next)), keyUsages: ['digitalSignature'] as const }
    expect(isTrusted(next.certificate, [mayNotSign])).toBe(false)
  })

  it('is a stranger outside the dates of the word, or of its own', async () => {
    const brief = await cross(old, next, validityFromNow(clock, DAY_MS))
    expect(isTrusted(next.certificate, [brief], undefined, atMs + DAY_MS - 1)).toBe(true)
    expect(isTrusted(next.certificate, [brief], undefined, atMs + DAY_MS + 1_000)).toBe(false)
    expect(isTrusted(next.certificate, [brief], undefined, atMs - DAY_MS)).toBe(false)
    const keys = await generateKeys()
    const template = { subject: userName('brief'), ...validityFromNow(clock, DAY_MS) }
    const briefCa = await issueSelfSignedCa(template, keys.privateKey)
    expect(isTrusted(briefCa.certificate, [await cross(old, briefCa)], undefined, atMs + 2 * DAY_MS)).toBe(false)
  })

  it('is a stranger if the trusted CA may have none below it', async () => {
    const keys = await generateKeys()
    const narrow = await issueSelfSignedCa({ subject: userName('narrow'), pathLength: 0, ...life }, keys.privateKey)
    const word = await forged({ ...narrow, certificate: { ...narrow.certificate, pathLength: undefined } }, next)
    expect(isTrusted(next.certificate, [word], [narrow.certificate])).toBe(false)
  })

  it('is a stranger if somebody else wrote the certificate for the key that is vouched for', async () => {
    const { subject } = next.certificate
    const template = { subject, ca: {}, keyUsages: caKeyUsages, ...life }
    const subjectAsIssuer = { ...evil, certificate: { ...evil.certificate, subjectDer: next.certificate.subjectDer } }
    const made = await issueCertificate(subjectAsIssuer, template, next.certificate.publicKey)
    expect(isTrusted(made, [await cross(old, next)])).toBe(false)
  })
})
