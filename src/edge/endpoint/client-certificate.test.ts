import { beforeAll, describe, expect, it } from 'vitest'
import type { Peer } from '../../http/server/exchange.ts'
import type { Certificate } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../identity/issue.ts'
import { generateKeys } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { CERTIFICATE_REFUSAL_MS, ClientCertificates } from './client-certificate.ts'

const hourMs = 3_600_000
const clock = new ManualClock()
let ca: CertificateAuthority
let next: CertificateAuthority

async function createCa(name: string): Promise<CertificateAuthority> {
  const { privateKey } = await generateKeys()
  return await issueSelfSignedCa({ subject: userName(name, []), ...validityFromNow(clock, 24 * hourMs) }, privateKey)
}

async function issued(authority: CertificateAuthority, node: string): Promise<Certificate> {
  const template = {
    subject: nodeSubject(node),
    extendedKeyUsages: ['clientAuth'] as const,
    ...validityFromNow(clock, hourMs),
  }
  return await issueCertificate(authority, template, (await generateKeys()).publicKey)
}

const peerOf = (...certificates: Certificate[]): Peer => ({
  address: '127.0.0.1',
  certificates: certificates.map(({ der }) => der),
})

beforeAll(async () => {
  ca = await createCa('kubernetes')
  next = await createCa('kubernetes-next')
})

describe('ClientCertificates', () => {
  it('takes the node by the CA or by its own certificate, until it ends, and looks again when trust changes', async () => {
    let trust: readonly Certificate[] = [ca.certificate]
    let own: Certificate | undefined
    const certificates = new ClientCertificates({ node: 'edge-1', clock, trust: () => trust, own: () => own })
    const bySigner = peerOf(await issued(ca, 'edge-1'))
    const certificate = await issued(next, 'edge-1')
    const byItself = peerOf(certificate)
    expect(certificates.of(bySigner)).toEqual({ kind: 'node' })
    expect(certificates.of(bySigner)).toEqual({ kind: 'node' })
    expect(certificates.of(byItself).kind).toBe('wrong')
    own = certificate
    expect(certificates.of(byItself)).toEqual({ kind: 'node' })
    trust = [next.certificate]
    expect(certificates.of(bySigner).kind).toBe('wrong')
    trust = [ca.certificate, next.certificate]
    expect(certificates.of(bySigner)).toEqual({ kind: 'node' })
    await clock.advance(hourMs + 1_000)
    expect(certificates.of(bySigner)).toMatchObject({ kind: 'wrong', message: expect.stringContaining('expired') })
    expect(certificates.of(byItself)).toMatchObject({ kind: 'wrong', message: expect.stringContaining('expired') })
  })

  it('takes nobody else, and says whom it would take', async () => {
    const certificates = new ClientCertificates({
      node: 'edge-1',
      clock,
      trust: () => [ca.certificate],
      own: () => undefined,
    })
    expect(certificates.of(peerOf())).toEqual({ kind: 'absent' })
    const other = certificates.of(peerOf(await issued(ca, 'edge-2')))
    expect(other).toMatchObject({
      kind: 'wrong',
      message: expect.stringContaining('only the client certificate of node edge-1'),
    })
    const garbage = certificates.of({ address: '', certificates: [Buffer.from('garbage')] })
    expect(garbage).toMatchObject({ kind: 'wrong', message: expect.stringContaining('the client certificate') })
  })

  it('looks again at one that is not valid yet', async () => {
    const certificate = await issued(ca, 'edge-1')
    const early = new ManualClock(certificate.notBeforeMs - CERTIFICATE_REFUSAL_MS)
    const options = { node: 'edge-1', clock: early, trust: () => [ca.certificate], own: () => undefined }
    const trust = options.trust()
    const certificates = new ClientCertificates({ ...options, trust: () => trust })
    const peer = peerOf(certificate)
    expect(certificates.of(peer)).toMatchObject({ kind: 'wrong' })
    await early.advance(CERTIFICATE_REFUSAL_MS + 1)
    expect(certificates.of(peer)).toEqual({ kind: 'node' })
  })
})
