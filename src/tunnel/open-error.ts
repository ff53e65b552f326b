/** A stream that was not opened: the code the far end answered, or the one that fits what happened instead of an answer. */
import type { RefusalCode } from './prelude/answer.ts'
import { PreludeError } from './prelude/message.ts'
import { SessionError, StreamError } from './yamux/errors.ts'

export class OpenError extends Error {
  override readonly name = 'OpenError'
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The refusal that an unexpected end before the answer amounts to. */
export function openErrorFrom(error: unknown): OpenError {
  if (error instanceof OpenError) return error
  const options = { cause: error }
  if (error instanceof PreludeError) return new OpenError('invalid', `unreadable answer: ${error.message}`, options)
  if (error instanceof StreamError) return new OpenError(codeOfStreamError(error), error.message, options)
  if (error instanceof SessionError) return new OpenError('no-route', error.message, options)
  return new OpenError('refused', error instanceof Error ? error.message : String(error), options)
}

/** A peer resets a stream it has not answered only because it has too many. */
function codeOfStreamError({ code }: StreamError): RefusalCode {
  if (code === 'session-ended' || code === 'going-away' || code === 'ids-exhausted') return 'no-route'
  return code === 'reset-locally' ? 'refused' : 'overloaded'
}
