/**
 * Who this edge is, as its data folder tells. The pair of certificate and key is written last when joining, so a folder that
 * has one has everything; what is found to be otherwise was changed by others, or is a second join that was cut off.
 */

import type { Certificate } from '../../identity/certificate.ts'
import { caBundleSha256 } from '../../identity/join-token.ts'
import { keyFingerprint } from '../../identity/keys.ts'
import type { CertificatePair } from '../../identity/pair-file.ts'
import { ExplainedError } from '../../runtime/explained-error.ts'
import type { EdgeFiles } from './edge-files.ts'
import type { EdgeRecord } from './edge-record.ts'
import { ownCertificateProblem } from './own-certificate.ts'

export interface EdgeIdentity {
  readonly node: string
  readonly pair: CertificatePair
  /** Whose signature makes a peer the hub. */
  readonly hubCa: readonly Certificate[]
}

/** An identity that came by a join, which also pinned the cluster's API server. */
export interface JoinedIdentity extends EdgeIdentity {
  readonly record: EdgeRecord
  readonly kubernetesCa: readonly Certificate[]
}

export class EdgeIdentityError extends ExplainedError {
  override readonly name = 'EdgeIdentityError'
}

/** `undefined` if this edge has not joined, or not to the end. Finishes and clears away what a crash left half done. */
export async function loadJoinedIdentity(files: EdgeFiles, nowMs: number): Promise<JoinedIdentity | undefined> {
  await files.tidy()
  const pair = await files.readPair()
  if (pair === undefined) return undefined
  const { paths } = files
  const hubCa = present(await files.readHubCa(), paths.hubCa)
  const kubernetesCa = present(await files.readKubernetesCa(), paths.kubernetesCa)
  const record = present(await files.readRecord(), paths.record)
  const { node } = record
  const problem = ownCertificateProblem(pair.chain, { trust: hubCa, atMs: nowMs, dates: 'ignore', node })
  if (problem !== undefined) throw inconsistent(`${paths.pair.certificate}: ${problem.message}`)
  if (caBundleSha256(kubernetesCa) !== record.kubernetesCaSha256)
    throw inconsistent(`${paths.kubernetesCa} is not the Kubernetes CA that the join token named`)
  await removeSpentJoinKey(files, pair)
  return { node, pair, hubCa, kubernetesCa, record }
}

/** A crash may have come between the last write of a join and the removal of its key. */
async function removeSpentJoinKey(files: EdgeFiles, pair: CertificatePair): Promise<void> {
  const joinKey = await files.readJoinKey()
  if (joinKey !== undefined && keyFingerprint(joinKey) === keyFingerprint(pair.privateKey)) await files.removeJoinKey()
}

function present<T>(value: T | undefined, path: string): T {
  if (value === undefined) throw inconsistent(`${path} is missing`)
  return value
}

function inconsistent(problem: string): EdgeIdentityError {
  return new EdgeIdentityError(
    `the identity of this edge is not whole: ${problem}; restore the file, or join again with a token`,
  )
}
