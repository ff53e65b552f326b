/**
 * Printing the result of a command. Output that could not be written is a failure: whoever redirected it to a full disk
 * must not take the half of it for the whole.
 */
import type { CommandContext } from './context.ts'
import { CommandError } from './failure.ts'

/** Resolves once all is written. A reader that went away (`| head`) has seen enough. */
export function print({ stdout }: Pick<CommandContext, 'stdout'>, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => {
      if (error === undefined || error === null || isGone(error)) resolve()
      else reject(new CommandError(`cannot write the output: ${error.message}`, { cause: error }))
    })
  })
}

function isGone(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE'
}
