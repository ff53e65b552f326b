/** Where the next page of a list begins: an opaque word for clients, the same as a kube-apiserver's for curious ones. */
import { badRequest } from '../status/request-errors.ts'

export interface ContinueToken {
  /** The revision of the snapshot; -1 when it has expired and the rest comes from the present. */
  readonly revision: number
  /** The last key that was given, relative to the collection. */
  readonly lastKey: string
}

/** More than the longest key, encoded. */
const maxTokenCharacters = 4_096

export function formatContinueToken({ revision, lastKey }: ContinueToken): string {
  const token = { v: 'meta.k8s.io/v1', rv: revision, start: `${lastKey}\u0000` }
  return Buffer.from(JSON.stringify(token)).toString('base64url')
}

/** Reads what `formatContinueToken` or a kube-apiserver made. Throws an ApiError for every other text. */
export function parseContinueToken(text: string): ContinueToken {
  const token = decode(text)
  const { v, rv, start } = token
  if (v !== 'meta.k8s.io/v1' || !Number.isSafeInteger(rv) || typeof start !== 'string' || start === '') {
    throw badRequest('continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  }
  // kube-apiserver writes a slash before the key, and takes both.
  const written = start.startsWith('/') ? start.slice(1) : start
  const key = written.endsWith('\u0000') ? written.slice(0, -1) : written
  if (key.startsWith('/') || key.split('/').includes('..')) throw badRequest('continue key is not valid: invalid path')
  return { revision: rv as number, lastKey: key }
}

function decode(text: string): { v?: unknown; rv?: unknown; start?: unknown } {
  if (text.length > maxTokenCharacters) throw badRequest('continue key is not valid: it is too long')
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // falls through to the one answer for everything that is no token
  }
  throw badRequest('continue key is not valid: it was not made by this server')
}
