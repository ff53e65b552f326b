/**
 * The CA that signs the certificates of edges: the operator's files, else the Secret that all hubs share, else made here and
 * put into the Secret, where the first hub to do so decides for all.
 */

import { type Certificate, certificatePem, readCertificates } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { type CertificatePair, type PairPaths, parsePair, readForeignPair } from '../../identity/pair-file.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { secrets } from '../../kube/client/kinds.ts'
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { Secret } from '../../kube/client/types.ts'
import { isForbidden } from '../../kube/status/predicates.ts'
import type { Clock } from '../../runtime/clock.ts'
import { readFileBounded } from '../../runtime/files/atomic-file.ts'
import { FileError } from '../../runtime/files/file-error.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { explained } from '../shared/cluster-error.ts'
import { Fields, secretData } from '../shared/fields.ts'
import { CA_SECRET, labelsOf } from '../shared/names.ts'
import { createIfAbsent, getIfPresent } from '../shared/shared-object.ts'
import { checkCanSign } from './authority-check.ts'
import type { HubAuthority } from './cluster.ts'

/** Edges pin the CA for as long as they live, so it must not end while anybody remembers. */
export const CA_LIFE_MS = 3650 * 24 * 60 * 60 * 1000
/** The members of the Secret: those of every TLS Secret, and two for the time of a roll-over. */
export const CA_FIELDS = {
  certificate: 'tls.crt',
  key: 'tls.key',
  /** CAs before this one that still count. */
  previous: 'previous.crt',
  /** The key of this CA, certified by the one before it. */
  cross: 'cross.crt',
} as const
export const TLS_SECRET_TYPE = 'kubernetes.io/tls'

export interface AuthorityFiles extends PairPaths {
  /** Certificates of CAs before this one that still count. */
  readonly previous?: string | undefined
}

export interface AuthorityOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly logger: Logger
  readonly files?: AuthorityFiles | undefined
}

/** The authority with what belongs into the chain of certificates it signs. */
export interface LoadedAuthority extends HubAuthority {
  /** The signing CA, unless it signed itself, those above it, and cross-certificates, as far as they were given. */
  readonly chainAbove: readonly Certificate[]
}

export class AuthorityLoader {
  readonly #options: AuthorityOptions
  readonly #secrets: ResourceClient<Secret>
  #warnedOf: string | undefined
  #shared: Secret | undefined

  constructor(options: AuthorityOptions) {
    this.#options = options
    this.#secrets = options.client.resource(secrets).in(options.namespace)
  }

  /** Reads and checks the operator's files, and nothing else; `undefined` if none were named. */
  async loadFiles(): Promise<LoadedAuthority | undefined> {
    const { files, clock } = this.#options
    if (files === undefined) return undefined
    const pair = await readForeignPair(files)
    if (pair === undefined)
      throw new FileError('unreadable-file', `neither ${files.certificate} nor ${files.key} exists`)
    const previous = files.previous === undefined ? [] : await readBundle(files.previous)
    return await authorityOf(pair, { previous, cross: [] }, files.certificate, clock)
  }

  async load(): Promise<LoadedAuthority> {
    const fromFiles = await this.loadFiles()
    if (fromFiles === undefined) return await this.#loadShared()
    await this.#warnOfAnother(fromFiles)
    return fromFiles
  }

  async #loadShared(): Promise<LoadedAuthority> {
    const { namespace, clock } = this.#options
    const secret = await explained(`load the CA from Secret ${namespace}/${CA_SECRET}`, () =>
      createIfAbsent(this.#secrets, CA_SECRET, () => this.#restoreOrMake()),
    )
    const authority = await authorityOfSecret(secret, clock)
    this.#shared = secret
    return authority
  }

  /** If somebody removes the Secret while a hub runs, a new CA would cut off every edge; the hub still has the old one. */
  async #restoreOrMake(): Promise<Secret> {
    if (this.#shared === undefined) return await this.#make()
    const { namespace, logger } = this.#options
    logger.warn({ secret: `${namespace}/${CA_SECRET}` }, 'the CA was removed from the cluster; putting it back')
    const { type, data } = this.#shared
    return {
      metadata: { name: CA_SECRET, namespace, labels: labelsOf() },
      type: type ?? TLS_SECRET_TYPE,
      data: data ?? {},
    }
  }

  async #make(): Promise<Secret> {
    const { namespace, clock, logger } = this.#options
    const { privateKey } = await generateKeys()
    const template = { subject: userName('causeway-hub-ca'), ...validityFromNow(clock, CA_LIFE_MS) }
    const { certificate } = await issueSelfSignedCa(template, privateKey)
    logger.info({ fingerprint: certificate.fingerprint, namespace }, 'made a CA, since the cluster has none')
    return {
      metadata: { name: CA_SECRET, namespace, labels: labelsOf() },
      type: TLS_SECRET_TYPE,
      data: secretData({
        [CA_FIELDS.certificate]: certificatePem(certificate),
        [CA_FIELDS.key]: privateKeyPem(privateKey),
      }),
    }
  }

  /** Files win. That a Secret says otherwise is worth a word, once: hubs without the files would use that one. */
  async #warnOfAnother({ signing }: HubAuthority): Promise<void> {
    const { logger, clock, namespace } = this.#options
    try {
      const secret = await getIfPresent(this.#secrets, CA_SECRET)
      if (secret === undefined) return
      const { fingerprint } = (await authorityOfSecret(secret, clock)).signing.certificate
      if (fingerprint === signing.certificate.fingerprint || this.#warnedOf === fingerprint) return
      this.#warnedOf = fingerprint
      logger.warn(
        { secret: `${namespace}/${CA_SECRET}`, used: signing.certificate.fingerprint, ignored: fingerprint },
        'the CA files are used; the Secret holds another CA, which hubs without these files would use',
      )
    } catch (error) {
      const level = isForbidden(error) ? 'debug' : 'warn'
      logger[level]({ err: error }, 'cannot compare the CA files with the CA in the cluster')
    }
  }
}

export async function authorityOfSecret(secret: Secret, clock: Clock): Promise<LoadedAuthority> {
  const fields = Fields.ofSecret(secret)
  const of = (field: string): string => `${field} of ${fields.source}`
  const paths = { certificate: of(CA_FIELDS.certificate), key: of(CA_FIELDS.key) }
  const pair = parsePair(fields.required(CA_FIELDS.certificate), fields.required(CA_FIELDS.key), paths)
  const bundle = (field: string): readonly Certificate[] => {
    const text = fields.optional(field)
    return text === undefined ? [] : readCertificates(text, of(field))
  }
  const earlier = { previous: bundle(CA_FIELDS.previous), cross: bundle(CA_FIELDS.cross) }
  return await authorityOf(pair, earlier, paths.certificate, clock)
}

interface Earlier {
  readonly previous: readonly Certificate[]
  readonly cross: readonly Certificate[]
}

async function authorityOf(
  { chain, privateKey }: CertificatePair,
  { previous, cross }: Earlier,
  source: string,
  clock: Clock,
): Promise<LoadedAuthority> {
  const [certificate, ...above] = chain
  const signing = { certificate, privateKey }
  await checkCanSign(signing, source, clock)
  const isRoot = certificate.subjectDer.equals(certificate.issuerDer)
  // What stands after a root in its file can only be its cross-certificates.
  const chainAbove = [...(isRoot ? above : [certificate, ...above]), ...cross]
  return { signing, trust: [certificate, ...previous], chainAbove }
}

async function readBundle(file: string): Promise<readonly Certificate[]> {
  const content = await readFileBounded(file)
  if (content === undefined) throw new FileError('unreadable-file', `${file} does not exist`)
  return readCertificates(content, file)
}

/** Whether two authorities sign and trust alike. */
export function isSameAuthority(a: LoadedAuthority, b: LoadedAuthority): boolean {
  const text = ({ trust, chainAbove }: LoadedAuthority): string =>
    [trust, chainAbove].map((list) => list.map(({ fingerprint }) => fingerprint).join()).join(';')
  return text(a) === text(b)
}
