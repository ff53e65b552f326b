/** How the API server is known to an edge whose certificates the operator brings: no token could have told it. */
import { readFileBounded } from '../../identity/atomic-file.ts'
import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import { diskOperations } from '../../identity/file-operations.ts'
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
