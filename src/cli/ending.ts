/**
 * The end of the process, once its command has said all: what was written goes out, then nothing keeps it. A handle that
 * somebody forgot, or that cannot be closed, must not make a role that has stopped look as if it ran.
 */
import type { Clock } from '../runtime/clock.ts'
import type { CommandContext } from './context.ts'

/** For whoever reads what we write; one who does not read by then never will. */
export const LAST_WORDS_TIMEOUT_MS = 10_000

type Outputs = Pick<CommandContext, 'stdout' | 'stderr' | 'exit'> & { readonly clock: Pick<Clock, 'sleep'> }

export async function endProcess(code: number, { stdout, stderr, exit, clock }: Outputs): Promise<void> {
  const all = Promise.all([written(stdout), written(stderr)])
  await Promise.race([all, clock.sleep(LAST_WORDS_TIMEOUT_MS)])
  exit(code)
}

/** All that was written before; also where its reader is gone, for then nothing more can be done. */
function written(output: CommandContext['stdout']): Promise<void> {
  return new Promise((resolve) => {
    output.write('', () => resolve())
  })
}
