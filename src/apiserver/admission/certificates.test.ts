import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { admissionRequest } from '../../../test/worlds/admission-world.ts'
import { createRequest } from '../../identity/csr.ts'
import { userName } from '../../identity/distinguished-name.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { ALLOWED, type Authorizer, NO_OPINION, NO_RULES } from '../request/authorizer.ts'
import { CertificateApproval } from './certificate-approval.ts'
import { CertificateSigning } from './certificate-signing.ts'
import { CertificateSubjectRestriction } from './certificate-subject-restriction.ts'

const resource = 'certificates.k8s.io/v1/certificatesigningrequests'
const signerName = 'kubernetes.io/kube-apiserver-client'

/** Allows one verb on one signer, or on all signers of a domain by `domain/*`. */
const allowing = (verb: string, signer: string): Authorizer => ({
  authorize: (asked) =>
    asked.kind === 'resource' && asked.resource === 'signers' && asked.verb === verb && asked.name === signer
      ? ALLOWED
      : NO_OPINION,
  rulesFor: () => NO_RULES,
})
const csr = (spec: object = {}, status: object = {}): KubeObject => ({
  metadata: { name: 'c' },
  spec: { signerName, ...spec },
  status,
})
const update = (subresource: string, object: KubeObject) =>
  admissionRequest({ resource, operation: 'UPDATE', subresource, object, old: csr() })

describe('CertificateApproval', () => {
  it.each([signerName, 'kubernetes.io/*'])('takes the verb on %s', (signer) => {
    new CertificateApproval(allowing('approve', signer)).validate(update('approval', csr()))
  })

  it('refuses who may only sign, and for a signer that the new object claims to have', () => {
    const why = `user not permitted to approve requests with signerName "${signerName}"`
    const signing = new CertificateApproval(allowing('sign', signerName))
    expect(() => signing.validate(update('approval', csr()))).toThrow(why)
    const other = new CertificateApproval(allowing('approve', 'example.com/own'))
    expect(() => other.validate(update('approval', csr({ signerName: 'example.com/own' })))).toThrow(why)
  })
})

describe('CertificateSigning', () => {
  const plugin = new CertificateSigning(allowing('approve', signerName))

  it('takes the verb for a certificate or a condition, and for nothing else', () => {
    const why = `user not permitted to sign requests with signerName "${signerName}"`
    plugin.validate(update('status', csr()))
    expect(() => plugin.validate(update('status', csr({}, { certificate: 'eA==' })))).toThrow(why)
    expect(() => plugin.validate(update('status', csr({}, { conditions: [{ type: 'Failed' }] })))).toThrow(why)
    new CertificateSigning(allowing('sign', signerName)).validate(update('status', csr({}, { certificate: 'eA==' })))
  })
})

describe('CertificateSubjectRestriction', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const requested = async (spec: object, ...groups: string[]): Promise<void> => {
    const pem = await createRequest({ subject: userName('eve', groups) }, privateKey)
    const object = csr({ request: Buffer.from(pem).toString('base64'), ...spec })
    await new CertificateSubjectRestriction().validate(admissionRequest({ resource, object }))
  }

  it('keeps the group of administrators out of client certificates', async () => {
    await requested({}, 'staff')
    await requested({ signerName: 'example.com/own' }, 'system:masters')
    await expect(requested({}, 'staff', 'system:masters')).rejects.toThrow(
      `use of ${signerName} signer with system:masters group is not allowed`,
    )
  })

  it('refuses what it cannot read', async () => {
    await expect(requested({ request: 'eA==' })).rejects.toThrow('failed to parse CSR: spec.request holds no PEM block')
  })
})
