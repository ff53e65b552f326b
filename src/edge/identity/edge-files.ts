/**
 * The files of an edge's identity in its data folder: where each is, and how it is read and written. Every write is atomic
 * and on disk when it returns. The order of writes is the business of those who call.
 */
import type { KeyObject } from 'node:crypto'
import { dirname, join } from 'node:path'
import { type Certificate, certificatePem, readCertificates } from '../../identity/certificate.ts'
import { privateKeyPem, readPrivateKey } from '../../identity/keys.ts'
import { type CertificatePair, type PairPaths, readPair, writePair } from '../../identity/pair-file.ts'
import {
  PUBLIC_FILE_MODE,
  readFileBounded,
  removeTemporaryFiles,
  writeFileAtomically,
} from '../../runtime/files/atomic-file.ts'
import { diskOperations, type FileOperations } from '../../runtime/files/file-operations.ts'
import { type EdgeRecord, type RememberedRotation, readEdgeRecord, writeEdgeRecord } from './edge-record.ts'

export interface EdgePaths {
  readonly pair: PairPaths
  readonly hubCa: string
  readonly kubernetesCa: string
  /** The key of a join that has begun; gone once its certificate is safe. */
  readonly joinKey: string
  readonly record: string
}

export function edgePaths(dataDir: string): EdgePaths {
  return {
    pair: { certificate: join(dataDir, 'edge.crt'), key: join(dataDir, 'edge.key') },
    hubCa: join(dataDir, 'ca.crt'),
    kubernetesCa: join(dataDir, 'kubernetes-ca.crt'),
    joinKey: join(dataDir, 'join.key'),
    record: join(dataDir, 'edge.json'),
  }
}

/** One process at a time uses the folder; its lock is taken by the command line. */
export class EdgeFiles {
  readonly paths: EdgePaths
  readonly #files: FileOperations

  constructor(dataDir: string, files: FileOperations = diskOperations) {
    this.paths = edgePaths(dataDir)
    this.#files = files
  }

  /** Clears away what interrupted writes have left. */
  async tidy(): Promise<void> {
    await removeTemporaryFiles(dirname(this.paths.record), this.#files)
  }

  async readRecord(): Promise<EdgeRecord | undefined> {
    const text = await this.#read(this.paths.record)
    return text === undefined ? undefined : readEdgeRecord(text.toString('utf8'), this.paths.record)
  }

  async writeRecord(record: EdgeRecord): Promise<void> {
    await writeFileAtomically(this.paths.record, writeEdgeRecord(record), { files: this.#files })
  }

  async rememberRotation(rotation: RememberedRotation): Promise<void> {
    const record = await this.readRecord()
    if (record !== undefined) await this.writeRecord({ ...record, rotation })
  }

  async rememberHubs(hubs: readonly string[]): Promise<void> {
    const record = await this.readRecord()
    if (record !== undefined) await this.writeRecord({ ...record, hubs: [...hubs] })
  }

  async readPair(): Promise<CertificatePair | undefined> {
    return await readPair(this.paths.pair, this.#files)
  }

  async writePair(pair: { readonly certificatePem: string; readonly keyPem: string }): Promise<CertificatePair> {
    return await writePair(this.paths.pair, pair, this.#files)
  }

  async readHubCa(): Promise<readonly Certificate[] | undefined> {
    return await this.#readCertificates(this.paths.hubCa)
  }

  async writeHubCa(certificates: readonly Certificate[]): Promise<void> {
    await this.#writeCertificates(this.paths.hubCa, certificates)
  }

  async readKubernetesCa(): Promise<readonly Certificate[] | undefined> {
    return await this.#readCertificates(this.paths.kubernetesCa)
  }

  async writeKubernetesCa(certificates: readonly Certificate[]): Promise<void> {
    await this.#writeCertificates(this.paths.kubernetesCa, certificates)
  }

  async readJoinKey(): Promise<KeyObject | undefined> {
    const pem = await this.#read(this.paths.joinKey)
    return pem === undefined ? undefined : readPrivateKey(pem, this.paths.joinKey)
  }

  async writeJoinKey(key: KeyObject): Promise<void> {
    await writeFileAtomically(this.paths.joinKey, privateKeyPem(key), { files: this.#files })
  }

  async removeJoinKey(): Promise<void> {
    await this.removeForGood(this.paths.joinKey)
  }

  /** The content of a small file that is not ours, such as a token; `undefined` if there is none. */
  async readForeign(path: string, maxBytes: number): Promise<Buffer | undefined> {
    return await readFileBounded(path, { files: this.#files, maxBytes })
  }

  /** Returns when the removal has reached the disk. */
  async removeForGood(path: string): Promise<void> {
    await this.#files.remove(path)
    await this.#files.syncFolder(dirname(path))
  }

  async #readCertificates(path: string): Promise<readonly Certificate[] | undefined> {
    const pem = await this.#read(path)
    return pem === undefined ? undefined : readCertificates(pem, path)
  }

  async #writeCertificates(path: string, certificates: readonly Certificate[]): Promise<void> {
    const options = { mode: PUBLIC_FILE_MODE, files: this.#files }
    await writeFileAtomically(path, certificatePem(...certificates), options)
  }

  async #read(path: string): Promise<Buffer | undefined> {
    return await readFileBounded(path, { files: this.#files })
  }
}
