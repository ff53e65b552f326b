/**
 * An identity the operator brings (`--ca-cert`, `--edge-cert`, `--edge-key`) instead of joining. Its files are never written
 * and its certificate never renewed here: whoever issued it also replaces it, and the files are read again now and then to
 * notice. The node's name is the one in the certificate; the hub records the claim when it is first used.
 */

import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { nodeOfSubject } from '../../identity/node-name.ts'
import { type CertificatePair, readForeignPair } from '../../identity/pair-file.ts'
import { inBackground } from '../../process/background.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ExplainedError } from '../../runtime/explained-error.ts'
import { readFileBounded } from '../../runtime/files/atomic-file.ts'
import { diskOperations, type FileOperations } from '../../runtime/files/file-operations.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { EdgeIdentity } from './edge-identity.ts'
import type { KeeperMetrics } from './keeper-metrics.ts'
import { ownCertificateProblem } from './own-certificate.ts'

/** Files change when a person or a tool renews them; within the minute is soon enough. */
export const BROUGHT_POLL_MS = 60_000

export interface BroughtPaths {
  readonly hubCa: string
  readonly certificate: string
  readonly key: string
}

class BroughtIdentityError extends ExplainedError {
  override readonly name = 'BroughtIdentityError'
}

/** Throws `BroughtIdentityError` or `IdentityError`, naming the file at fault. */
export async function readBroughtIdentity(
  paths: BroughtPaths,
  clock: Clock,
  files: FileOperations = diskOperations,
): Promise<EdgeIdentity> {
  const caPem = await readFileBounded(paths.hubCa, { files })
  if (caPem === undefined) throw new BroughtIdentityError(`there is no ${paths.hubCa}`)
  const hubCa = readCertificates(caPem, paths.hubCa)
  const pair = await readForeignPair(paths, files)
  if (pair === undefined) throw new BroughtIdentityError(`there is neither ${paths.certificate} nor ${paths.key}`)
  return { node: nodeOf(pair, hubCa, paths, clock.nowMs()), pair, hubCa }
}

function nodeOf(
  { chain }: CertificatePair,
  trust: readonly Certificate[],
  { certificate: path, hubCa }: BroughtPaths,
  atMs: number,
): string {
  const [{ subject }] = chain
  const node = nodeOfSubject(subject)
  if (node === undefined)
    throw new BroughtIdentityError(
      `${path} is about ${formatName(subject)}; an edge needs a certificate about CN=system:node:<name>, O=system:nodes`,
    )
  const problem = ownCertificateProblem(chain, { trust, atMs, dates: 'check', node })
  if (problem === undefined) return node
  const where = problem.reason === 'untrusted' ? `${path} does not fit ${hubCa}` : path
  throw new BroughtIdentityError(`${where}: ${problem.message}`)
}

export interface BroughtKeeperOptions {
  readonly paths: BroughtPaths
  readonly identity: EdgeIdentity
  readonly files?: FileOperations
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: KeeperMetrics
  readonly onRotated?: (pair: CertificatePair) => void | Promise<void>
}

/** Has the same face as the keeper of a certificate of our own. */
export class BroughtKeeper implements Part {
  readonly name = 'brought-certificate'
  readonly #options: BroughtKeeperOptions
  #identity: EdgeIdentity
  /** What is wrong with the files now; the last good content stays in use. */
  #problem: string | undefined

  constructor(options: BroughtKeeperOptions) {
    this.#options = options
    this.#identity = options.identity
  }

  current(): CertificatePair {
    return this.#identity.pair
  }

  hubCa(): readonly Certificate[] {
    return this.#identity.hubCa
  }

  health(): Health {
    const [{ notAfterMs }] = this.#identity.pair.chain
    if (this.#problem !== undefined) return unhealthy(this.#problem)
    if (this.#options.clock.nowMs() <= notAfterMs) return HEALTHY
    const { certificate } = this.#options.paths
    return unhealthy(`${certificate} has expired at ${new Date(notAfterMs).toISOString()}; replace it and its key`)
  }

  async start(): Promise<RunningPart> {
    this.#announce()
    return inBackground((signal) => this.#run(signal))
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#options.clock.sleep(BROUGHT_POLL_MS, signal)
        await this.#look()
      } catch (error) {
        if (!signal.aborted) this.#complain(error as Error)
      }
    }
  }

  async #look(): Promise<void> {
    const { paths, clock, files, logger, onRotated } = this.#options
    const found = await readBroughtIdentity(paths, clock, files)
    const { node } = this.#identity
    if (found.node !== node)
      throw new BroughtIdentityError(
        `${paths.certificate} is now about node ${found.node}; restart the edge to change its name from ${node}`,
      )
    this.#problem = undefined
    const isNew = found.pair.chain[0].fingerprint !== this.#identity.pair.chain[0].fingerprint
    this.#identity = found
    if (!isNew) return
    logger.info({ file: paths.certificate }, 'certificate replaced')
    this.#announce()
    await onRotated?.(found.pair)
  }

  /** Once for each problem, not every minute. */
  #complain(error: Error): void {
    if (this.#problem !== error.message)
      this.#options.logger.warn({ err: error }, 'the certificate files cannot be used; the last good ones stay in use')
    this.#problem = error.message
  }

  #announce(): void {
    this.#options.metrics.expires('edge', this.#identity.pair.chain[0].notAfterMs)
  }
}

/** How the API server is known to an edge whose certificates the operator brings: no token could have told it. */
export interface BroughtCluster {
  readonly apiServerName: string
  readonly kubernetesCaFile: string
}

/** Throws `BroughtIdentityError` or `IdentityError`, naming the file at fault. */
export async function readBroughtCluster(
  cluster: BroughtCluster,
): Promise<BroughtCluster & { readonly kubernetesCa: readonly Certificate[] }> {
  const { kubernetesCaFile } = cluster
  const pem = await readFileBounded(kubernetesCaFile, { files: diskOperations })
  if (pem === undefined) throw new BroughtIdentityError(`there is no ${kubernetesCaFile}`)
  return { ...cluster, kubernetesCa: readCertificates(pem, kubernetesCaFile) }
}
