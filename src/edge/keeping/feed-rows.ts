/**
 * Feeds and their entries as contents of rows. A head row tells how many entries belong to it and the sum of their
 * checksums: whatever damage may have done, a head with other entries is seen to be so.
 */
import * as v from 'valibot'
import type { KeptEntry, KeptHead } from './kept.ts'

/** Heads are some hundred bytes; a selector of a client may be in one. */
const MAX_HEAD_BYTES = 64 * 1024
/** Twice what the API server takes for an object. */
export const MAX_ENTRY_BYTES = 8 * 1024 * 1024
/** A form is a word. */
const MAX_FORM_BYTES = 255

const HEAD = v.object({
  key: v.string(),
  head: v.record(v.string(), v.unknown()),
  secret: v.boolean(),
  entries: v.pipe(v.number(), v.integer(), v.minValue(0)),
  digest: v.pipe(v.number(), v.integer()),
})

export interface HeadRow {
  readonly key: string
  readonly head: KeptHead
  readonly secret: boolean
  readonly entries: number
  readonly digest: number
}

/** `digest` plus or minus a checksum, as a small integer. */
export function addToDigest(digest: number, checksum: number): number {
  return (digest + checksum) | 0
}

export function removeFromDigest(digest: number, checksum: number): number {
  return (digest - checksum) | 0
}

/** `undefined` where it is larger than a head may be. */
export function encodeHead(row: HeadRow): Buffer | undefined {
  const content = Buffer.from(JSON.stringify(row))
  return content.length > MAX_HEAD_BYTES ? undefined : content
}

export function decodeHead(content: Buffer): HeadRow | undefined {
  try {
    const result = v.safeParse(HEAD, JSON.parse(content.toString('utf8')))
    return result.success ? result.output : undefined
  } catch {
    return undefined
  }
}

/** In pieces, so that whoever writes them copies the bytes once. */
export function encodeEntry({ form, bytes }: KeptEntry): readonly Uint8Array[] {
  const name = Buffer.from(form).subarray(0, MAX_FORM_BYTES)
  return [Buffer.from([name.length]), name, bytes]
}

export function decodeEntry(key: string, content: Buffer): KeptEntry | undefined {
  const bytesAt = 1 + (content[0] ?? content.length)
  if (bytesAt > content.length) return undefined
  return { key, form: content.toString('utf8', 1, bytesAt), bytes: content.subarray(bytesAt) }
}
