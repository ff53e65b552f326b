/**
 * The peer's header block cannot be read. The compression state is then lost for good, so the whole connection has to end
 * with COMPRESSION_ERROR (RFC 9113, 4.3); a stream cannot be refused alone.
 */
export class HpackError extends Error {
  override readonly name = 'HpackError'
}
