/** Headers between the form in which they travel through here and the forms of Node. */
import type { HeaderPairs } from './upstream.ts'

/** Node sends lists as lines of their own, and refuses a list where HTTP knows one value only: the API server reads the first. */
const singleValued: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-max-age',
  'access-control-request-method',
  'age',
  'authorization',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'date',
  'dnt',
  'etag',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'range',
  'referer',
  'retry-after',
  'tk',
  'upgrade-insecure-requests',
  'user-agent',
  'x-content-type-options',
])

export type HeaderRecord = Record<string, string | string[]>

/** Adds to `record`, which has no prototype, so that any name is just a name. */
export function addPairs(record: HeaderRecord, pairs: HeaderPairs): HeaderRecord {
  for (const [name, value] of pairs) {
    const known = record[name]
    if (known === undefined) record[name] = value
    else if (Array.isArray(known)) known.push(value)
    else if (!singleValued.has(name)) record[name] = [known, value]
  }
  return record
}
