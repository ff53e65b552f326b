/** The one error this folder throws: a code for programs, a sentence for people. */
import { ExplainedError } from '../runtime/explained-error.ts'

export type IdentityErrorCode =
  | 'too-large'
  | 'malformed-pem'
  | 'malformed-der'
  | 'malformed-key'
  | 'malformed-certificate'
  | 'malformed-request'
  | 'malformed-extension'
  /** The input is well formed and holds nothing of what was looked for. */
  | 'none-found'
  | 'several-found'
  | 'encrypted-key'
  | 'unsupported-key'
  | 'weak-key'
  | 'unsupported-algorithm'
  /** A signing request whose signature was not made by the key inside it. */
  | 'bad-proof'
  | 'key-mismatch'
  | 'not-a-ca'
  | 'path-too-long'
  | 'outlives-ca'
  /** The caller asked for a certificate, request or file that cannot be. */
  | 'invalid-template'
  | 'half-pair'

export class IdentityError extends ExplainedError {
  override readonly name = 'IdentityError'
  readonly code: IdentityErrorCode

  constructor(code: IdentityErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Runs `read`; whatever it throws that is not ours already becomes an error with this code and sentence. */
export function rethrowAs<T>(code: IdentityErrorCode, message: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof IdentityError) throw error
    throw new IdentityError(code, message, { cause: error })
  }
}
