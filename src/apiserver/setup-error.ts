/** A server that cannot start as it was told to: the message says what to mend, and where. */
export class SetupError extends Error {
  override readonly name = 'SetupError'
}
