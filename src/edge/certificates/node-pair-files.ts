/**
 * The files of the two pairs that the cluster signed for this node, and of when to replace them. The moments have a file of
 * their own: an edge with certificates that were brought to it has no `edge.json`, and what two keepers write while the
 * keeper of the edge's own certificate writes that one would be lost now and then.
 */

import { join } from 'node:path'
import * as v from 'valibot'
import { type CertificatePair, isDamagedFile, type PairPaths, readPair, writePair } from '../../identity/pair-file.ts'
import type { CertificatePurpose } from '../../protocol/requests.ts'
import { readFileBounded, writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import { diskOperations, type FileOperations } from '../../runtime/files/file-operations.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { RememberedRotation } from '../identity/edge-record.ts'

/** The form of `node-certificates.json`; any other is passed over, which costs a new draw of the moments. */
const NODE_CERTIFICATES_VERSION = 1

export interface NodePairPaths extends Readonly<Record<CertificatePurpose, PairPaths>> {
  readonly memory: string
}

export function nodePairPaths(dataDir: string): NodePairPaths {
  const pair = (name: string): PairPaths => ({
    certificate: join(dataDir, `${name}.crt`),
    key: join(dataDir, `${name}.key`),
  })
  return {
    serving: pair('serving'),
    client: pair('kubelet-client'),
    memory: join(dataDir, 'node-certificates.json'),
  }
}

const rotation = v.object({
  fingerprint: v.string(),
  atMs: v.pipe(v.number(), v.integer()),
  /** Hash of the CA of the cluster that signed the pair: another cluster, after a second join, does not take it. */
  kubernetesCaSha256: v.string(),
})
const memorySchema = v.object({
  version: v.literal(NODE_CERTIFICATES_VERSION),
  serving: v.optional(rotation),
  client: v.optional(rotation),
})

type Memory = v.InferOutput<typeof memorySchema>

export interface NodePairFilesOptions {
  readonly dataDir: string
  /** Hash of the CA of the cluster that this edge belongs to now. */
  readonly kubernetesCaSha256: string
  readonly logger: Logger
  readonly files?: FileOperations
}

export class NodePairFiles {
  readonly paths: NodePairPaths
  readonly #files: FileOperations
  readonly #logger: Logger
  readonly #kubernetesCaSha256: string
  #memory: Memory = { version: NODE_CERTIFICATES_VERSION }
  /** One write after the other: each holds what all have remembered so far. */
  #writing: Promise<void> = Promise.resolve()

  private constructor({ dataDir, logger, kubernetesCaSha256, files = diskOperations }: NodePairFilesOptions) {
    this.paths = nodePairPaths(dataDir)
    this.#files = files
    this.#logger = logger
    this.#kubernetesCaSha256 = kubernetesCaSha256
  }

  static async open(options: NodePairFilesOptions): Promise<NodePairFiles> {
    const opened = new NodePairFiles(options)
    opened.#memory = await opened.#readMemory()
    return opened
  }

  rotationOf(purpose: CertificatePurpose): RememberedRotation | undefined {
    return this.#memory[purpose]
  }

  /** `undefined` also for one that is damaged: the cluster signs another. Files that may not be read are an error. */
  async read(purpose: CertificatePurpose): Promise<CertificatePair | undefined> {
    try {
      return await readPair(this.paths[purpose], this.#files)
    } catch (error) {
      if (!isDamagedFile(error)) throw error
      this.#logger.warn(
        { certificate: purpose, why: error.message },
        'a certificate on disk is damaged; asking for another',
      )
      return undefined
    }
  }

  async write(purpose: CertificatePurpose, pair: Pick<CertificatePair, 'certificatePem' | 'keyPem'>) {
    return await writePair(this.paths[purpose], pair, this.#files)
  }

  /** Whether that certificate is known to be of another cluster than the one this edge belongs to now. */
  isForeign(purpose: CertificatePurpose, fingerprint: string): boolean {
    const known = this.#memory[purpose]
    return known?.fingerprint === fingerprint && known.kubernetesCaSha256 !== this.#kubernetesCaSha256
  }

  async rememberRotation(purpose: CertificatePurpose, remembered: RememberedRotation): Promise<void> {
    const known = this.#memory[purpose]
    const signedFor =
      known?.fingerprint === remembered.fingerprint ? known.kubernetesCaSha256 : this.#kubernetesCaSha256
    this.#memory = { ...this.#memory, [purpose]: { ...remembered, kubernetesCaSha256: signedFor } }
    const written = this.#writing.then(() => this.#writeMemory())
    // The caller hears of the failure; the next write begins all the same.
    this.#writing = written.catch(() => {})
    await written
  }

  async #writeMemory(): Promise<void> {
    const text = `${JSON.stringify(this.#memory, undefined, 2)}\n`
    await writeFileAtomically(this.paths.memory, text, { files: this.#files })
  }

  async #readMemory(): Promise<Memory> {
    const nothing: Memory = { version: NODE_CERTIFICATES_VERSION }
    const text = await readFileBounded(this.paths.memory, { files: this.#files })
    if (text === undefined) return nothing
    try {
      const parsed = v.safeParse(memorySchema, JSON.parse(text.toString('utf8')))
      return parsed.success ? parsed.output : nothing
    } catch {
      return nothing
    }
  }
}
