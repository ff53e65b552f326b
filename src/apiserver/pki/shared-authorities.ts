/**
 * The CAs and the ServiceAccount key of several API servers on one store. Whoever starts first puts them there, and all
 * others take them, so that a credential from one is believed by all. A server that has its own in its data folder wants
 * exactly those: if others use different ones it must not start, because half of the clients would be refused.
 *
 * The store then holds private keys. Whoever can read all of it, or a backup of it, can sign in as anybody; who can read
 * all Secrets of a cluster nearly can already.
 */
import { join } from 'node:path'
import { certificatePem } from '../../identity/certificate.ts'
import type { CertificateAuthority } from '../../identity/issue.ts'
import { privateKeyPem } from '../../identity/keys.ts'
import { parsePair, readPair } from '../../identity/pair-file.ts'
import { text } from '../kinds/fields.ts'
import { recordKey, recordValue } from '../storage/private-records.ts'
import type { Store } from '../storage/store.ts'

/** Where an API server finds the authorities by which it is known. */
export interface AuthoritySource {
  /** The one of this name; `make` is asked when nobody has one yet. */
  authority(name: string, make: () => Promise<CertificateAuthority>): Promise<CertificateAuthority>
}

export class AuthorityMismatchError extends Error {
  override readonly name = 'AuthorityMismatchError'
}

export class SharedAuthorities implements AuthoritySource {
  readonly #store: Store
  readonly #folder: string

  constructor(store: Store, folder: string) {
    this.#store = store
    this.#folder = folder
  }

  async authority(name: string, make: () => Promise<CertificateAuthority>): Promise<CertificateAuthority> {
    const files = { certificate: join(this.#folder, `${name}.crt`), key: join(this.#folder, `${name}.key`) }
    const kept = await readPair(files)
    const own = kept === undefined ? undefined : { certificate: kept.chain[0], privateKey: kept.privateKey }
    const shared = (await this.#read(name)) ?? (await this.#share(name, own ?? (await make())))
    if (own !== undefined && own.certificate.fingerprint !== shared.certificate.fingerprint)
      throw mismatch(files.certificate, files.key)
    return shared
  }

  async #read(name: string): Promise<CertificateAuthority | undefined> {
    const { entry } = await this.#store.get(recordKey('identity', name))
    return entry === undefined ? undefined : parseAuthority(name, entry.value)
  }

  /** Ours, or that of a server that was faster. */
  async #share(name: string, authority: CertificateAuthority): Promise<CertificateAuthority> {
    const key = recordKey('identity', name)
    const content = {
      certificate: certificatePem(authority.certificate),
      key: privateKeyPem(authority.privateKey),
    }
    const value = recordValue(name, content)
    const result = await this.#store.commit({
      conditions: [{ key, modRevision: 0 }],
      writes: [{ type: 'put', key, value }],
    })
    if (result.committed) return authority
    return parseAuthority(name, result.found[0]?.value ?? value)
  }
}

function parseAuthority(name: string, value: Buffer): CertificateAuthority {
  const record = JSON.parse(value.toString('utf8')) as Record<string, unknown>
  const source = `the shared ${name} in the store`
  const names = { certificate: source, key: `the key of ${source}` }
  const { chain, privateKey } = parsePair(text(record, 'certificate'), text(record, 'key'), names)
  return { certificate: chain[0], privateKey }
}

function mismatch(certificateFile: string, keyFile: string): AuthorityMismatchError {
  return new AuthorityMismatchError(
    `${certificateFile} is not what the other API servers on this etcd use: credentials from them would be refused here. ` +
      `Remove ${certificateFile} and ${keyFile} to use theirs, copy these two files to all servers and start them with ` +
      '--no-pki-in-store, or choose another --etcd-prefix',
  )
}
