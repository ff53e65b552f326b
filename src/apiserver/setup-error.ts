/** A server that cannot start as it was told to: the message says what to mend, and where. */
import { ExplainedError } from '../runtime/explained-error.ts'

export class SetupError extends ExplainedError {
  override readonly name = 'SetupError'
}
