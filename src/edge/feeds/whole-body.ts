/** Answers that are read as a whole, within a limit, and uncompressed where they were compressed. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { ByteSource } from '../../http/body/byte-source.ts'
import { readBody } from '../../http/body/request-body.ts'
import { BodyTooLargeError } from '../../http/server/exchange.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'

/** A page of a list. Objects are at most some 1.5 MiB each; a page of five hundred of the usual ones has a few. */
export const MAX_LIST_BYTES = 64 * 1024 * 1024

const inflate = promisify(gunzip)

/** Throws a WireError for more than `maxBytes`, and what broke the body. */
export async function readWhole({ headers, body }: UpstreamAnswer, maxBytes: number): Promise<Buffer> {
  const encoding = headers.find(([name]) => name === 'content-encoding')?.[1] ?? ''
  const whole = await gather(body, maxBytes)
  return await uncompressed(whole, encoding, maxBytes)
}

export async function uncompressed(whole: Buffer, contentEncoding: string, maxBytes: number): Promise<Buffer> {
  if (contentEncoding === '' || contentEncoding === 'identity') return whole
  if (contentEncoding !== 'gzip') throw new WireError('bad-value', `the answer is compressed as ${contentEncoding}`)
  try {
    return await inflate(whole, { maxOutputLength: maxBytes })
  } catch (error) {
    throw new WireError('malformed', `the answer cannot be uncompressed: ${(error as Error).message}`, { cause: error })
  }
}

async function gather(body: ByteSource, maxBytes: number): Promise<Buffer> {
  try {
    return await readBody(body, undefined, maxBytes)
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error
    throw new WireError('bad-value', `the answer is larger than ${maxBytes} bytes`, { cause: error })
  }
}
