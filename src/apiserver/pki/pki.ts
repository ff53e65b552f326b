/**
 * The certificates and keys of an API server: made on first start, kept in the data folder, made again when they near
 * their end. The CA outlives everything it signs. Servers that share a store may share their CAs by it too; each still
 * has its own certificates.
 */

import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  type CertificateTemplate,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { type CertificatePair, type PairPaths, readPair, writePair } from '../../identity/pair-file.ts'
import { isNearExpiry } from '../../identity/rotation.ts'
import type { Clock } from '../../runtime/clock.ts'
import { writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import type { AuthoritySource } from './shared-authorities.ts'

const dayMs = 24 * 60 * 60 * 1000
/** The CA is what clients pin: it must not change while anybody remembers. */
const caLifeMs = 3650 * dayMs
const leafLifeMs = 365 * dayMs

export interface ServerNames {
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
}

export interface Pki {
  readonly ca: CertificateAuthority
  readonly frontProxyCa: CertificateAuthority
  readonly serving: CertificatePair
  readonly admin: CertificatePair
  readonly frontProxyClient: CertificatePair
  /** Signs ServiceAccount tokens. */
  readonly serviceAccountKey: KeyObject
}

/** With `shared`, the CAs and the ServiceAccount key are those of all servers on one store. */
export async function loadPki(
  folder: string,
  names: ServerNames,
  clock: Clock,
  shared?: AuthoritySource,
): Promise<Pki> {
  const makers = new PairMaker(folder, clock, shared)
  const ca = await makers.authority('ca', 'causeway')
  const frontProxyCa = await makers.authority('front-proxy-ca', 'causeway-front-proxy')
  const clientAuth = { extendedKeyUsages: ['clientAuth'], keyUsages: ['digitalSignature'] } as const
  const serving = await makers.leaf('apiserver', ca, {
    subject: userName('kube-apiserver'),
    names: { dnsNames: [...names.dnsNames], ipAddresses: [...names.ipAddresses] },
    keyUsages: ['digitalSignature'],
    extendedKeyUsages: ['serverAuth'],
  })
  const admin = await makers.leaf('admin', ca, {
    subject: userName('kubernetes-admin', ['system:masters']),
    ...clientAuth,
  })
  const frontProxyClient = await makers.leaf('front-proxy-client', frontProxyCa, {
    subject: userName('front-proxy-client'),
    ...clientAuth,
  })
  const { privateKey: serviceAccountKey } = await makers.authority('service-account', 'causeway-service-accounts')
  return { ca, frontProxyCa, serving, admin, frontProxyClient, serviceAccountKey }
}

/** Where the private keys of a server lie; with shared authorities, some of them may not. */
export function keyFiles(folder: string): string[] {
  const names = ['ca', 'front-proxy-ca', 'apiserver', 'admin', 'front-proxy-client', 'service-account']
  return names.map((name) => join(folder, `${name}.key`))
}

/** A kubeconfig with everything inside, for the administrator of this server alone. */
export async function writeAdminKubeconfig(file: string, server: string, { ca, admin }: Pki): Promise<void> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'causeway', cluster: { server, 'certificate-authority-data': base64(certificatePem(ca.certificate)) } },
    ],
    users: [
      {
        name: 'admin',
        user: { 'client-certificate-data': base64(admin.certificatePem), 'client-key-data': base64(admin.keyPem) },
      },
    ],
    contexts: [{ name: 'causeway', context: { cluster: 'causeway', user: 'admin' } }],
    'current-context': 'causeway',
  }
  await writeFileAtomically(file, `${JSON.stringify(config, null, 2)}\n`)
}

class PairMaker {
  readonly #folder: string
  readonly #clock: Clock
  readonly #shared: AuthoritySource | undefined

  constructor(folder: string, clock: Clock, shared: AuthoritySource | undefined) {
    this.#folder = folder
    this.#clock = clock
    this.#shared = shared
  }

  async authority(name: string, commonName: string): Promise<CertificateAuthority> {
    if (this.#shared !== undefined) return await this.#shared.authority(name, () => this.#newAuthority(commonName))
    const paths = this.#paths(name)
    const kept = await readPair(paths)
    if (kept !== undefined) return { certificate: kept.chain[0], privateKey: kept.privateKey }
    const authority = await this.#newAuthority(commonName)
    await writePair(paths, this.#pem(authority.certificate, authority.privateKey))
    return authority
  }

  async #newAuthority(commonName: string): Promise<CertificateAuthority> {
    const { privateKey } = await generateKeys()
    const template = { subject: userName(commonName), ...validityFromNow(this.#clock, caLifeMs) }
    return await issueSelfSignedCa(template, privateKey)
  }

  async leaf(
    name: string,
    ca: CertificateAuthority,
    template: Omit<CertificateTemplate, 'notBeforeMs' | 'notAfterMs'>,
  ): Promise<CertificatePair> {
    const paths = this.#paths(name)
    const kept = await readPair(paths)
    if (kept !== undefined && this.#isUsable(kept.chain[0], ca, template)) return kept
    const { privateKey, publicKey } = await generateKeys()
    const life = validityFromNow(this.#clock, leafLifeMs)
    const certificate = await issueCertificate(ca, { ...template, ...life }, publicKey, { ifOutlivesCa: 'cap' })
    return await writePair(paths, this.#pem(certificate, privateKey))
  }

  /** The folder may have been used with another store, and so with another CA. */
  #isUsable(kept: Certificate, ca: CertificateAuthority, template: Pick<CertificateTemplate, 'names'>): boolean {
    const isFromCa = kept.x509.verify(ca.certificate.publicKey)
    return isFromCa && !isNearExpiry(kept, this.#clock.nowMs()) && covers(kept, template)
  }

  #paths(name: string): PairPaths {
    return { certificate: join(this.#folder, `${name}.crt`), key: join(this.#folder, `${name}.key`) }
  }

  #pem(certificate: Certificate, privateKey: KeyObject): { certificatePem: string; keyPem: string } {
    return { certificatePem: certificatePem(certificate), keyPem: privateKeyPem(privateKey) }
  }
}

/** Whether the kept certificate speaks for every name that is wanted now. */
function covers({ names }: Certificate, { names: wanted }: Pick<CertificateTemplate, 'names'>): boolean {
  return (
    (wanted?.dnsNames ?? []).every((name) => names.dnsNames.includes(name)) &&
    (wanted?.ipAddresses ?? []).every((address) => names.ipAddresses.includes(address))
  )
}
