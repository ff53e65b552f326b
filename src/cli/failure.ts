/**
 * How a command ends: the exit codes, and the errors that carry one. Any other error is a defect of ours.
 */
import { ExplainedError } from '../runtime/explained-error.ts'

export const EXIT_CODES = {
  done: 0,
  failed: 1,
  /** The command line or the configuration is wrong: nothing was done. */
  usage: 2,
} as const

/** The command was understood and could not do its work. */
export class CommandError extends ExplainedError {
  override readonly name: string = 'CommandError'
  readonly exitCode: number = EXIT_CODES.failed
}

/** The command line or the configuration is wrong. */
export class UsageError extends CommandError {
  override readonly name: string = 'UsageError'
  override readonly exitCode = EXIT_CODES.usage
}

/** The failure stands in the log already; nothing more is to be printed. */
export class LoggedError extends CommandError {
  override readonly name: string = 'LoggedError'
}
