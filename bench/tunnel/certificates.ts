/** A CA for an hour, and what it signs for the rivals. Ours make their own. */
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const lifeMs = 60 * 60 * 1000

export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface Certificates {
  readonly caPem: string
  readonly server: Pair
  readonly client: Pair
}

export async function makeCertificates(): Promise<Certificates> {
  const { privateKey } = await generateKeys()
  const subject = userName('bench-ca')
  const ca = await issueSelfSignedCa({ subject, ...validityFromNow(systemClock, lifeMs * 2) }, privateKey)
  return {
    caPem: certificatePem(ca.certificate),
    server: await makePair(ca, 'server'),
    client: await makePair(ca, 'edge-1'),
  }
}

async function makePair(ca: CertificateAuthority, name: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeys()
  const template = {
    ...validityFromNow(systemClock, lifeMs),
    subject: userName(name),
    names: { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
    extendedKeyUsages: ['serverAuth', 'clientAuth'],
  } as const
  return { cert: certificatePem(await issueCertificate(ca, template, publicKey)), key: privateKeyPem(privateKey) }
}
