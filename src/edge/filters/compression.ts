/** gzip as kube-apiserver does it: for whom, from what size on, and how hard. */
import { pipeline, type Readable } from 'node:stream'
import { constants, createGunzip, createGzip, type Gzip } from 'node:zlib'

/** Bodies of up to this size are sent as they are, as kube-apiserver does: compressing them saves little. */
export const COMPRESSION_THRESHOLD_BYTES = 128 * 1024

/** Only the plain word counts, without weights: that is how kube-apiserver reads the header. */
export function acceptsGzip(acceptEncoding: string): boolean {
  return acceptEncoding.split(',').some((word) => word.trim() === 'gzip')
}

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
