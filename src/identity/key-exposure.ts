/** Whether others than its owner may read a private key. We write keys for their owner alone; people and tools copy them. */
import { stat } from 'node:fs/promises'

const othersAccess = 0o077
const permissionBits = 0o777

/** What to warn of; `undefined` if all is well, or if there is no such file: that is for others to notice. */
export async function keyExposure(path: string, whatItIs = 'this key'): Promise<string | undefined> {
  const mode = await modeOf(path)
  if (mode === undefined || (mode & othersAccess) === 0) return undefined
  const shown = (mode & permissionBits).toString(8).padStart(4, '0')
  return `${path} has the mode ${shown}: others than its owner may use ${whatItIs}; chmod 0600 ${path}`
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode
  } catch {
    return undefined
  }
}
