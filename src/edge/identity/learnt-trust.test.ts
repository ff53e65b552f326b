import { pino } from 'pino'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS, makeCa } from '../../../test/worlds/edge-hub.ts'
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { generateKeys } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { LearntTrust, MAX_LEARNT_CAS, MAX_VOUCHERS } from './learnt-trust.ts'

const clock = new ManualClock(Date.UTC(2026, 0, 1))
let old: CertificateAuthority
let next: CertificateAuthority
let cross: Certificate
let ofOld: readonly [Certificate]
let ofNext: readonly [Certificate, Certificate]
beforeAll(async () => {
  old = await makeCa(clock, 'old')
  next = await makeCa(clock, 'next')
  const { subject, publicKey } = next.certificate
  const template = { subject, ca: {}, ...validityFromNow(clock, 100 * DAY_MS) }
  cross = await issueCertificate(old, template, publicKey, { ifOutlivesCa: 'cap' })
  ofOld = [await own(old)]
  ofNext = [await own(next), cross]
})

async function own(by: CertificateAuthority): Promise<Certificate> {
  const { publicKey } = await generateKeys()
  const life = validityFromNow(clock, 30 * DAY_MS)
  const usages = { extendedKeyUsages: ['clientAuth'] as const }
  return await issueCertificate(by, { subject: nodeSubject('edge-1'), ...usages, ...life }, publicKey)
}

let written: (readonly Certificate[])[]
let errors: number
let ownChain: readonly [Certificate, ...Certificate[]]
let trust: LearntTrust
beforeEach(() => {
  written = []
  errors = 0
  ownChain = ofOld
  trust = new LearntTrust({
    node: 'edge-1',
    certificates: [old.certificate],
    ownChain: () => ownChain,
    files: { writeHubCa: async (certificates) => void written.push(certificates) },
    clock,
    logger: pino({ level: 'error' }, { write: () => errors++ }),
  })
})

const offer = (list: readonly CertificateAuthority[], vouchers = [cross]) => ({
  hubCa: certificatePem(...list.map(({ certificate }) => certificate)),
  vouchers,
})
const names = (certificates: readonly Certificate[]): string[] =>
  certificates.map(({ fingerprint }) => (fingerprint === old.certificate.fingerprint ? 'old' : 'next'))

describe('the CAs of the hub', () => {
  it('are learnt when a trusted one vouches for the new one, and are on disk', async () => {
    await trust.learn(offer([next, old]))
    expect(names(trust.certificates)).toEqual(['next', 'old'])
    expect(written.map(names)).toEqual([['next', 'old']])
    await trust.learn(offer([next, old]))
    expect(written).toHaveLength(1)
  })

  it('stay as they are when nobody vouches, which is said once', async () => {
    for (let times = 0; times < 3; times++) await trust.learn(offer([next, old], []))
    expect(names(trust.certificates)).toEqual(['old'])
    expect(written).toEqual([])
    expect(trust.problem).toMatch(/no CA that is trusted here vouches for CN=next.*stolen the hub's server key/)
    expect(errors).toBe(1)
    await trust.learn(offer([old]))
    expect(trust.problem).toBeUndefined()
  })

  it('stay as they are when the list cannot be read, or is longer than any hub needs', async () => {
    await trust.learn({ hubCa: 'no list', vouchers: [] })
    expect(trust.problem).toContain("the hub's list of CAs")
    await trust.learn(offer(new Array(MAX_LEARNT_CAS + 1).fill(old)))
    expect(trust.problem).toContain(`more than ${MAX_LEARNT_CAS} certificates`)
    await trust.learn(offer([old], new Array(MAX_VOUCHERS + 1).fill(cross)))
    expect(trust.problem).toContain(`${MAX_VOUCHERS + 1} cross-certificates`)
    expect(written).toEqual([])
  })

  it('include the one our certificate is of, though the hub has dropped it, until we have another', async () => {
    await trust.learn(offer([next]))
    expect(names(trust.certificates)).toEqual(['next', 'old'])
    ownChain = ofNext
    await trust.learn(offer([next]))
    expect(names(trust.certificates)).toEqual(['next'])
  })

  it('may be dropped when our certificate does not need them', async () => {
    await trust.learn(offer([next, old]))
    await trust.learn(offer([old], []))
    expect(names(trust.certificates)).toEqual(['old'])
  })

  it('do not change when the disk refuses', async () => {
    const files = { writeHubCa: async () => await Promise.reject(new Error('the disk is full')) }
    const certificates = [old.certificate]
    const logger = pino({ level: 'silent' })
    const failing = new LearntTrust({ node: 'edge-1', certificates, ownChain: () => ownChain, files, clock, logger })
    await expect(failing.learn(offer([next, old]))).rejects.toThrow('the disk is full')
    expect(names(failing.certificates)).toEqual(['old'])
  })

  it('tell whether our certificate is of the one that signs now', async () => {
    expect(trust.isOwnIssuerReplaced).toBe(false)
    await trust.learn(offer([old]))
    expect(trust.isOwnIssuerReplaced).toBe(false)
    await trust.learn(offer([next, old]))
    expect(trust.isOwnIssuerReplaced).toBe(true)
    ownChain = ofNext
    expect(trust.isOwnIssuerReplaced).toBe(false)
  })
})
