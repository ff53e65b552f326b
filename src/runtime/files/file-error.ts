/** A file that cannot be read or written: a code for programs, a sentence for people. */
import { ExplainedError } from '../explained-error.ts'

/** `too-large`: it can be read, and is not what it was taken for. The others: the disk or its rights stand in the way. */
export type FileErrorCode = 'unreadable-file' | 'unwritable-file' | 'too-large'

export class FileError extends ExplainedError {
  override readonly name = 'FileError'
  readonly code: FileErrorCode

  constructor(code: FileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Whether a file could not be reached at all, so that nothing is known of what is in it. */
export function isOutOfReach(error: unknown): boolean {
  return error instanceof FileError && error.code !== 'too-large'
}
