/** gzip on bodies that pass: undone before they are read, done again for clients that want it. */
import { pipeline } from 'node:stream'
import { constants, createGunzip, createGzip, type Gzip } from 'node:zlib'
import type { ByteSource } from '../../http/body/byte-source.ts'
import { ReadableSource } from '../../http/body/readable-source.ts'
import { SourceStream } from '../../http/body/source-stream.ts'

/** The body without its Content-Encoding, which must be a readable one. */
export function decompressed(body: ByteSource, contentEncoding: string): ByteSource {
  return contentEncoding === 'gzip' ? through(body, createGunzip()) : body
}

export function isReadableEncoding(contentEncoding: string): boolean {
  return contentEncoding === '' || contentEncoding === 'identity' || contentEncoding === 'gzip'
}

/** As fast as can be: the client is on the same machine. */
export function compressed(body: ByteSource): ByteSource {
  return through(body, createGzip({ level: constants.Z_BEST_SPEED }))
}

/** Whichever of the two breaks or is given up takes the other with it. */
function through(body: ByteSource, gzip: Gzip): ByteSource {
  pipeline(new SourceStream(body), gzip, () => undefined)
  return new ReadableSource(gzip, { broken: (error) => error ?? new Error('the body was cut off') })
}
