/** Removing a folder that somebody may still be writing into: a server that is stopping, a process just killed. */
import { rmSync } from 'node:fs'

const maxRounds = 50

/**
 * A file that appears in a folder while it is emptied makes the removal fail. `maxRetries` of Node does not help: it
 * repeats the last rmdir, and the new file stays. So the whole removal is repeated.
 */
export function removeFolder(path: string): void {
  for (let round = 1; ; round += 1) {
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 })
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || round === maxRounds) throw error
    }
  }
}
