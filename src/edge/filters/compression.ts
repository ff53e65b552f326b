/** gzip on bodies that pass: undone before they are read, done again for clients that want it. */
import { pipeline, type Readable } from 'node:stream'
import { constants, createGunzip, createGzip, type Gzip } from 'node:zlib'

/** The body without its Content-Encoding, which must be a readable one. */
export function decompressed(body: Readable, contentEncoding: string): Readable {
  return contentEncoding === 'gzip' ? joined(body, createGunzip()) : body
}

export function isReadableEncoding(contentEncoding: string): boolean {
  return contentEncoding === '' || contentEncoding === 'identity' || contentEncoding === 'gzip'
}

/** As fast as can be: the client is on the same machine. */
export function compressed(body: Readable): Readable {
  return joined(body, createGzip({ level: constants.Z_BEST_SPEED }))
}

/** Whichever of the two breaks or is destroyed takes the other with it. */
function joined(body: Readable, through: Gzip): Readable {
  pipeline(body, through, () => undefined)
  return through
}
