/** What can be wrong with bytes that claim to be protobuf. */
export type WireErrorCode =
  /** The bytes end inside a value, or a length points past the end. */
  | 'truncated'
  /** A varint of more than ten bytes, a field number of zero, a reserved wire type, an unbalanced group. */
  | 'malformed'
  /** A known field comes with a wire type that its type never has. */
  | 'wrong-wire-type'
  /** Messages nested deeper than the limit. */
  | 'too-deep'
  /** A value that the type cannot have: a Quantity that is no number, JSON that does not parse. */
  | 'bad-value'
  /** Not an envelope, or an envelope of a kind that the schema does not know. */
  | 'unknown-kind'

export class WireError extends Error {
  override readonly name = 'WireError'
  readonly code: WireErrorCode

  constructor(code: WireErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
