/** Which private keys others than their owner may read. We write keys for their owner alone; people and tools copy them. */
import { stat } from 'node:fs/promises'

const othersAccess = 0o077
const permissionBits = 0o777

/** What to warn of, a sentence for each key. Files that are missing are for others to notice. */
export async function keyExposures(paths: readonly string[]): Promise<string[]> {
  const modes = await Promise.all(paths.map(modeOf))
  return paths.flatMap((path, index) => {
    const mode = modes[index] ?? 0
    if ((mode & othersAccess) === 0) return []
    const shown = (mode & permissionBits).toString(8).padStart(4, '0')
    return [`${path} has the mode ${shown}: others than its owner may use this key; chmod 0600 ${path}`]
  })
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode
  } catch {
    return undefined
  }
}
