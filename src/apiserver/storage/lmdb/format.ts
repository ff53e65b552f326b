/** Begins an empty database, and refuses one that was written in a way we do not know. */
import { StoreOpenError } from '../store-errors.ts'
import type { Environment } from './environment.ts'
import { decodeInteger, encodeInteger, FORMAT_VERSION, META_KEYS } from './records.ts'

/** A store begins here, with nothing in it; the first change has the next revision. */
const FIRST_REVISION = 1

export async function prepareFormat(environment: Environment): Promise<void> {
  const found = environment.get('meta', META_KEYS.format)
  if (found === undefined) {
    await environment.apply([
      { table: 'meta', key: META_KEYS.format, value: encodeInteger(FORMAT_VERSION) },
      { table: 'meta', key: META_KEYS.revision, value: encodeInteger(FIRST_REVISION) },
      { table: 'meta', key: META_KEYS.compacted, value: encodeInteger(FIRST_REVISION) },
    ])
    return
  }
  const version = decodeInteger(found)
  if (version <= FORMAT_VERSION) return
  throw new StoreOpenError(
    `the store in ${environment.directory} has format ${version}, this program knows formats up to ${FORMAT_VERSION}: it was written by a newer ` +
      'version; use that one again, or another data directory',
  )
}

/** A number about the store itself. All of them are there from the first moment on. */
export function readMeta(environment: Environment, key: Buffer): number {
  const value = environment.get('meta', key)
  if (value === undefined)
    throw new StoreOpenError(`the store in ${environment.directory} is damaged: it has no ${key.toString()}`)
  return decodeInteger(value)
}
