/** Certificate requests before and after their verdict. */
import { object } from '../codec-fixtures.ts'
import { type Ago, condition, minute, placeholders, type TableFixture } from './parts.ts'

export function certificateFixtures(ago: Ago): TableFixture[] {
  const csr = (name: string, approval?: string, status?: object, spec: object = {}): TableFixture => ({
    object: object('certificates.k8s.io/v1', 'CertificateSigningRequest', `table-${name}`, {
      spec: { request: placeholders.request, signerName: 'example.com/signer', usages: ['client auth'], ...spec },
    }),
    ...(approval === undefined ? {} : { approval: { conditions: [verdict(approval)] } }),
    ...(status === undefined ? {} : { status }),
  })
  const verdict = (type: string) => condition(type, 'True', { reason: 'R', lastUpdateTime: ago(minute) })
  return [
    csr('pending', undefined, undefined, { expirationSeconds: 86_400 }),
    csr('denied', 'Denied'),
    csr('approved', 'Approved'),
    csr('issued', 'Approved', { certificate: placeholders.encodedCertificate }),
    csr('failed', 'Approved', { conditions: [verdict('Approved'), verdict('Failed')] }),
  ]
}
