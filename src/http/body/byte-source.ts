/** Bytes of a body as they come, whoever sends them and whatever version of HTTP carries them. */

export interface ByteSource {
  /** Begins; to be called once. What has come meanwhile may come in the same turn. */
  read(reader: ByteReader): void
  /** Nothing more comes until `resume`, but for the end of a body that is cut off. */
  pause(): void
  resume(): void
  /** Nobody reads on: the reader hears nothing more. */
  cancel(): void
}

/** Hears one of `end` and `broken`, once and last. */
export interface ByteReader {
  data(piece: Buffer): void
  /** The body is complete. */
  end(): void
  /** The body was cut off. */
  broken(fault: Error): void
}
