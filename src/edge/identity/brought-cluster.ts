/** How the API server is known to an edge whose certificates the operator brings: no token could have told it. */

import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import { readFileBounded } from '../../runtime/files/atomic-file.ts'
import { diskOperations } from '../../runtime/files/file-operations.ts'
import { BroughtIdentityError } from './brought.ts'

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
