import { describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/worlds/fake-cluster.ts'
import { readCertificates } from '../../identity/certificate.ts'
import { formatName, userName } from '../../identity/distinguished-name.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { generateKeys } from '../../identity/keys.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { issueNodeCertificate, nodeCertificateValidity } from './issue-node-certificate.ts'

const dayMs = 24 * 60 * 60 * 1000
const clock = new ManualClock()

async function below(ca: CertificateAuthority, name: string, lifeMs = 30 * dayMs): Promise<CertificateAuthority> {
  const { privateKey, publicKey } = await generateKeys()
  const template = { subject: userName(name), ca: {}, ...validityFromNow(clock, lifeMs) }
  return { certificate: await issueCertificate(ca, template, publicKey), privateKey }
}

describe('issueNodeCertificate', () => {
  it('answers with the CAs below the root, in order', async () => {
    const root = await makeCa(clock, 'root')
    const middle = await below(root, 'middle')
    const signing = await below(middle, 'signing')
    const chainAbove = [signing, middle].map(({ certificate }) => certificate)
    const authority = { signing, trust: [signing.certificate], chainAbove }
    const { publicKey } = await generateKeys()
    const issued = await issueNodeCertificate(authority, 'edge-1', publicKey, validityFromNow(clock, dayMs))
    const chain = readCertificates(issued.chainPem, 'the chain').map(({ subject }) => formatName(subject))
    expect(chain).toEqual(['O=system:nodes, CN=system:node:edge-1', 'CN=signing', 'CN=middle'])
  })

  it('ends no later than the CA, and refuses when the CA has ended', async () => {
    const signing = await below(await makeCa(clock), 'brief', dayMs)
    const authority = { signing, trust: [signing.certificate], chainAbove: [] }
    const { publicKey } = await generateKeys()
    const options = { clock, lifeMs: 90 * dayMs }
    const validity = nodeCertificateValidity(authority, options)
    const { certificate } = await issueNodeCertificate(authority, 'edge-1', publicKey, validity)
    expect(certificate.notAfterMs).toBe(signing.certificate.notAfterMs)
    await clock.advance(2 * dayMs)
    expect(() => nodeCertificateValidity(authority, options)).toThrow(/CA has expired/)
  })
})
