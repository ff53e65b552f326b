/**
 * Which fields are worth remembering. A value that never comes twice would only push out those that do; a short secret in
 * the table could be guessed by somebody who can add fields beside it and see the sizes (RFC 7541, 7.1).
 */
import { entryBytes } from './dynamic-table.ts'

/** A credential shorter than this could be guessed piece by piece, so it is marked never to be remembered by anybody. */
const SHORT_SECRET_BYTES = 20

export type Indexing = 'add' | 'without' | 'never'

const neverRepeating: ReadonlySet<string> = new Set([
  ':path',
  'age',
  'audit-id',
  'content-length',
  'content-range',
  'date',
  'etag',
  'expires',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'last-modified',
  'location',
  'set-cookie',
  'traceparent',
  'x-request-id',
])

export function indexingOf(name: string, value: string, tableBytes: number): Indexing {
  if (name === 'cookie') return 'never'
  if ((name === 'authorization' || name === 'proxy-authorization') && value.length < SHORT_SECRET_BYTES) return 'never'
  if (neverRepeating.has(name)) return 'without'
  return entryBytes(name, value) * 4 > tableBytes * 3 ? 'without' : 'add'
}
