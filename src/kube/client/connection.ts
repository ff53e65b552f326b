/**
 * How to reach one API server and as whom, as plain data. Kubeconfig and in-cluster loading both end here; transport
 * and credentials start here. Secrets that live in files stay file names, so that a rotated file is picked up.
 */
import { readFailureReason, readSmallFile } from './small-file.ts'

/** Bundles of all public roots, the largest of these files, take a quarter of a megabyte. */
export const MAX_MATERIAL_BYTES = 4 * 1024 * 1024

/** Bytes given inline, or a file that may be replaced while we run. */
export type Material = { readonly data: Buffer } | { readonly file: string }

export type UserCredentials =
  | { readonly type: 'anonymous' }
  | { readonly type: 'token'; readonly token: Material }
  | { readonly type: 'basic'; readonly username: string; readonly password: string }

export interface Impersonation {
  readonly user: string
  readonly uid?: string | undefined
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export interface TlsSettings {
  /** Trusted roots, PEM. Without them the system's roots apply. */
  readonly ca?: Material | undefined
  readonly clientCertificate?: { readonly certificate: Material; readonly key: Material } | undefined
  /** The name to ask for and to verify instead of the server's host. */
  readonly serverName?: string | undefined
  /** Accepts any server certificate. */
  readonly skipVerify: boolean
}

export interface ConnectionConfig {
  /** Where this came from, for error messages: a context and its files, or the pod's environment. */
  readonly source: string
  /** Base address without a trailing slash; may carry a path, as behind a gateway. */
  readonly server: string
  /** The namespace to use where the caller names none. */
  readonly namespace: string
  readonly tls: TlsSettings
  readonly credentials: UserCredentials
  readonly impersonation?: Impersonation | undefined
}

export class ConnectionConfigError extends Error {
  override readonly name = 'ConnectionConfigError'
}

export async function readMaterial(material: Material, what: string): Promise<Buffer> {
  if ('data' in material) return material.data
  try {
    return await readSmallFile(material.file, MAX_MATERIAL_BYTES)
  } catch (cause) {
    const reason = readFailureReason(cause)
    throw new ConnectionConfigError(`cannot read ${what} from ${material.file}: ${reason}`, { cause })
  }
}

/** Checks and normalises a base address; `where` names the setting in the error. */
export function parseServer(server: string, where: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ConnectionConfigError(`${where} is ${JSON.stringify(server)}; expected an https:// or http:// address`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new ConnectionConfigError(`${where} must not carry credentials, a query or a fragment: ${url.origin}`)
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}
