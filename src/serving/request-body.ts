/** Reads a request body into memory, up to a limit. */
import type { Readable } from 'node:stream'
import { BodyTooLargeError } from './exchange.ts'

export async function readBody(
  source: Readable,
  declaredLength: string | undefined,
  maxBytes: number,
): Promise<Buffer> {
  // Not worth reading what the client itself calls too large.
  if (declaredLength !== undefined && Number(declaredLength) > maxBytes) throw new BodyTooLargeError(maxBytes)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) throw new BodyTooLargeError(maxBytes)
    chunks.push(chunk)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)
}
