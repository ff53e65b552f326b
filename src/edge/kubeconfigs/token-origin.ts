/**
 * Which cluster the token of kube-proxy is of, in a file beside it: after a join to another cluster the token on disk looks
 * as good as ever, and that cluster refuses it. Holds hashes only.
 */
import { hash } from 'node:crypto'
import * as v from 'valibot'
import { readFileBounded, writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import type { FileOperations } from '../../runtime/files/file-operations.ts'

const originSchema = v.object({ tokenSha256: v.string(), kubernetesCaSha256: v.string() })

/** As the endpoint knows the tokens of its callers. */
export function tokenSha256(token: string): string {
  return hash('sha256', token)
}

function tokenOriginPath(tokenFile: string): string {
  return `${tokenFile}.json`
}

/** Whether that token is known to be of another cluster than this; not where nothing is known of it. */
export async function isOfAnotherCluster(
  tokenFile: string,
  token: string,
  kubernetesCaSha256: string,
  files: FileOperations,
): Promise<boolean> {
  const text = await readFileBounded(tokenOriginPath(tokenFile), { files })
  if (text === undefined) return false
  try {
    const origin = v.parse(originSchema, JSON.parse(text.toString('utf8')))
    return origin.tokenSha256 === tokenSha256(token) && origin.kubernetesCaSha256 !== kubernetesCaSha256
  } catch {
    return false
  }
}

export async function writeTokenOrigin(
  tokenFile: string,
  token: string,
  kubernetesCaSha256: string,
  files: FileOperations,
): Promise<void> {
  const origin: v.InferOutput<typeof originSchema> = { tokenSha256: tokenSha256(token), kubernetesCaSha256 }
  await writeFileAtomically(tokenOriginPath(tokenFile), `${JSON.stringify(origin)}\n`, { files })
}
