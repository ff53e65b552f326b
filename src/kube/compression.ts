/** gzip as API servers do it: for whom, and from what size on. */

/** Bodies of up to this size are sent as they are: compressing them saves little. */
export const COMPRESSION_THRESHOLD_BYTES = 128 * 1024

/** Only the plain word counts, without weights: that is how API servers read the header. */
export function acceptsGzip(acceptEncoding: string): boolean {
  return acceptEncoding.split(',').some((word) => word.trim() === 'gzip')
}
