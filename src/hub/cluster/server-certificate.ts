/**
 * The certificate by which edges recognise the hub: the operator's files, else the Secret for this set of addresses, else
 * issued by the hub's own CA. One that nears its end or whose CA has been replaced is issued again.
 */

import { isIP } from 'node:net'
import { encodeAlternativeNames, type RequestedNames } from '../../identity/alternative-names.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { type CertificatePair, type PairPaths, parsePair, readForeignPair } from '../../identity/pair-file.ts'
import { isNearExpiry } from '../../identity/rotation.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { secrets } from '../../kube/client/kinds.ts'
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { Secret } from '../../kube/client/types.ts'
import { canonicalIpAddress } from '../../network/ip-address.ts'
import type { Clock } from '../../runtime/clock.ts'
import { FileError } from '../../runtime/files/file-error.ts'
import type { Random } from '../../runtime/random.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { ClusterError, explained } from '../shared/cluster-error.ts'
import { Fields, secretData } from '../shared/fields.ts'
import { labelsOf, serverSecretName } from '../shared/names.ts'
import { changeShared } from '../shared/shared-object.ts'
import { type LoadedAuthority, TLS_SECRET_TYPE } from './authority.ts'

/** Short enough to be renewed often and so to be known to work, long enough to outlast any absence of the API server. */
export const SERVER_CERTIFICATE_LIFE_MS = 90 * 24 * 60 * 60 * 1000
const certificateField = 'tls.crt'
const keyField = 'tls.key'

export interface ServerCertificateOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly logger: Logger
  readonly random: Random
  /** The DNS names and IP addresses by which edges reach the hub. */
  readonly addresses: readonly string[]
  readonly files?: PairPaths | undefined
}

export class ServerCertificateLoader {
  readonly #options: ServerCertificateOptions
  readonly #addresses: readonly string[]
  readonly #secrets: ResourceClient<Secret>
  readonly #name: string

  constructor(options: ServerCertificateOptions) {
    this.#options = options
    this.#addresses = options.addresses.map(canonicalAddress)
    if (this.#addresses.length === 0 && options.files === undefined)
      throw new ClusterError('the hub has no address that a certificate could be issued for; set --advertise')
    // One that no certificate can hold must come out before anything is written.
    encodeAlternativeNames(namesOf(this.#addresses))
    this.#secrets = options.client.resource(secrets).in(options.namespace)
    this.#name = serverSecretName(this.#addresses)
  }

  /**
   * Reads and checks the operator's files, and nothing else; `undefined` if none were named. Before it is known whose
   * signatures count, what can be checked is that they are a pair.
   */
  async loadFiles(authority?: Pick<LoadedAuthority, 'trust'>): Promise<CertificatePair | undefined> {
    const { files } = this.#options
    if (files === undefined) return undefined
    const pair = await readForeignPair(files)
    if (pair === undefined)
      throw new FileError('unreadable-file', `neither ${files.certificate} nor ${files.key} exists`)
    if (authority !== undefined) this.#checkFiles(files, pair, authority)
    return pair
  }

  #checkFiles(files: PairPaths, pair: CertificatePair, { trust }: Pick<LoadedAuthority, 'trust'>): void {
    const [certificate, ...intermediates] = pair.chain
    const checks = { trust, intermediates, usage: 'serverAuth', atMs: this.#options.clock.nowMs() } as const
    const hosts = this.#addresses.length === 0 ? [undefined] : this.#addresses
    for (const host of hosts) {
      const result = verifyCertificate(certificate, host === undefined ? checks : { ...checks, host })
      if (!result.ok)
        throw new ClusterError(
          `${files.certificate} cannot be the hub's server certificate: ${result.message}; edges check it ` +
            "against the hub's CA and the address they call",
        )
    }
  }

  async load(authority: LoadedAuthority): Promise<CertificatePair> {
    return (await this.loadFiles(authority)) ?? (await this.#loadShared(authority))
  }

  async #loadShared(authority: LoadedAuthority): Promise<CertificatePair> {
    const { namespace } = this.#options
    const source = `Secret ${namespace}/${this.#name}`
    const secret = await explained(`load the server certificate from ${source}`, () =>
      changeShared(
        this.#secrets,
        this.#name,
        async (present) => {
          const problem = present === undefined ? 'there is none' : this.#problemOf(present, authority)
          return problem === undefined ? undefined : await this.#issue(authority, problem)
        },
        this.#options,
      ),
    )
    return pairOf(secret ?? {})
  }

  /** Why the certificate must be issued anew. A damaged Secret is one more reason: all that was in it can be made again. */
  #problemOf(secret: Secret, { signing }: LoadedAuthority): string | undefined {
    const nowMs = this.#options.clock.nowMs()
    let pair: CertificatePair
    try {
      pair = pairOf(secret)
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
    const [certificate] = pair.chain
    for (const host of this.#addresses) {
      const result = verifyCertificate(certificate, {
        trust: [signing.certificate],
        usage: 'serverAuth',
        atMs: nowMs,
        host,
      })
      if (!result.ok) return result.message
    }
    // Near the end of the CA's own life a new one would not last longer than the present one.
    const canLastLonger = certificate.notAfterMs < signing.certificate.notAfterMs
    return canLastLonger && isNearExpiry(certificate, nowMs) ? 'it nears its end' : undefined
  }

  async #issue({ signing, chainAbove }: LoadedAuthority, reason: string): Promise<Secret> {
    const { clock, logger, namespace } = this.#options
    const { privateKey, publicKey } = await generateKeys()
    const certificate = await issueCertificate(
      signing,
      {
        subject: userName('causeway-hub'),
        names: namesOf(this.#addresses),
        ...validityFromNow(clock, SERVER_CERTIFICATE_LIFE_MS),
        keyUsages: ['digitalSignature'],
        extendedKeyUsages: ['serverAuth'],
      },
      publicKey,
      { ifOutlivesCa: 'cap' },
    )
    logger.info({ addresses: this.#addresses, reason }, 'issuing the server certificate')
    return {
      metadata: { name: this.#name, namespace, labels: labelsOf() },
      type: TLS_SECRET_TYPE,
      data: secretData({
        [certificateField]: certificatePem(certificate, ...chainAbove),
        [keyField]: privateKeyPem(privateKey),
      }),
    }
  }
}

function namesOf(addresses: readonly string[]): RequestedNames {
  return {
    dnsNames: addresses.filter((address) => isIP(address) === 0),
    ipAddresses: addresses.filter((address) => isIP(address) !== 0),
  }
}

function pairOf(secret: Secret): CertificatePair {
  const fields = Fields.ofSecret(secret)
  const paths = { certificate: `${certificateField} of ${fields.source}`, key: `${keyField} of ${fields.source}` }
  return parsePair(fields.required(certificateField), fields.required(keyField), paths)
}

function canonicalAddress(address: string): string {
  return canonicalIpAddress(address) ?? address.toLowerCase()
}
