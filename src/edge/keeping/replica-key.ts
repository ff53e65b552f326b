/**
 * The key that secrets are encrypted with. By default it is made here and lies beside the data: that keeps secrets out of
 * copies of the data, and lets all of them be forgotten at once, but does not survive a thief who takes the whole disk. A
 * key from outside, such as a systemd credential, does.
 */
import { readFileBounded, writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import type { Random } from '../../runtime/random.ts'

/** Of our own key, and the least of one from outside. */
const REPLICA_KEY_BYTES = 32
/** A key from outside may be text; what is longer was named by mistake. */
const MAX_REPLICA_KEY_BYTES = 4_096

/** What is known of the key, and what people should hear of it. */
export interface ReplicaKey {
  /** `undefined`: there is no key, and secrets are not kept. */
  readonly material: Buffer | undefined
  readonly problem: string | undefined
}

/** A key from outside is never replaced by one of ours: whoever wants it there does not want it here. */
export async function readOutsideKey(path: string): Promise<ReplicaKey> {
  try {
    const material = await readFileBounded(path, { maxBytes: MAX_REPLICA_KEY_BYTES })
    if (material === undefined) return without(`there is no key file ${path}`)
    if (material.length >= REPLICA_KEY_BYTES) return { material, problem: undefined }
    return without(`the key file ${path} has ${material.length} bytes, and needs at least ${REPLICA_KEY_BYTES}`)
  } catch (error) {
    return without((error as Error).message)
  }
}

/** Reads our own key. A missing one is no problem: it is made when it is first needed. */
export async function readOwnKey(path: string): Promise<ReplicaKey> {
  try {
    const material = await readFileBounded(path, { maxBytes: REPLICA_KEY_BYTES })
    if (material === undefined || material.length === REPLICA_KEY_BYTES) return { material, problem: undefined }
    return { material: undefined, problem: `${path} has ${material.length} bytes instead of ${REPLICA_KEY_BYTES}` }
  } catch (error) {
    return { material: undefined, problem: (error as Error).message }
  }
}

/** Makes our own key in the place of whatever is there; it is on disk when this returns. Throws FileError. */
export async function makeOwnKey(path: string, random: Random): Promise<Buffer> {
  const material = random.bytes(REPLICA_KEY_BYTES)
  await writeFileAtomically(path, material)
  return material
}

function without(why: string): ReplicaKey {
  return { material: undefined, problem: `${why}; secrets are not kept` }
}
