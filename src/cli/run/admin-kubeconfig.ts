/** The kubeconfig that `causeway up` leaves in its data folder, with which tokens are asked for unless another is named. */
import { accessSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError, UsageError } from '../failure.ts'

export function adminKubeconfigOf(dataDir: string, access: (path: string) => void = accessSync): string {
  const path = join(dataDir, 'admin.kubeconfig')
  try {
    access(path)
    return path
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EACCES')
      throw new CommandError(
        `you may not look into ${dataDir}: ask as the user who runs the edge, or as root, or give --kubeconfig`,
        { cause },
      )
    if (!isThere(dataDir, access))
      throw new UsageError(
        `there is no folder ${dataDir}: name that of a running edge, or of "causeway up", with --data-dir`,
        { cause },
      )
    throw new UsageError(`there is no ${path}: name a kubeconfig that may ask for tokens with --kubeconfig`, { cause })
  }
}

function isThere(path: string, access: (path: string) => void): boolean {
  try {
    access(path)
    return true
  } catch {
    return false
  }
}
