/** Fills the store of a server that has not been started, many objects in one transaction: requests would take minutes. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { storedValue } from '../../src/apiserver/objects/item.ts'
import { LmdbStore } from '../../src/apiserver/storage/lmdb-store.ts'
import {
  MAX_TRANSACTION_BYTES,
  MAX_TRANSACTION_OPERATIONS,
  type Store,
  type Write,
} from '../../src/apiserver/storage/store.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { systemClock } from '../../src/runtime/clock.ts'

export interface Seed {
  /** `core/configmaps/default/`: what stands before the name in the key. */
  readonly prefix: string
  readonly object: KubeObject
}

/** `folder` is that of the MeteredServer. */
export async function seedStore(folder: string, seeds: Iterable<Seed>): Promise<void> {
  const directory = join(folder, 'data')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const store = await LmdbStore.open(join(directory, 'store'), systemClock)
  await seedInto(store, seeds)
  await store.close()
}

export async function seedInto(store: Pick<Store, 'commit'>, seeds: Iterable<Seed>): Promise<void> {
  let writes: Write[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    if (writes.length > 0) await store.commit({ conditions: [], writes })
    writes = []
    bytes = 0
  }
  for (const { prefix, object } of seeds) {
    const key = `${prefix}${object.metadata?.name}`
    const value = storedValue(completed(object, key))
    if (writes.length >= MAX_TRANSACTION_OPERATIONS || bytes + value.length + key.length > MAX_TRANSACTION_BYTES)
      await flush()
    writes.push({ type: 'put', key, value })
    bytes += value.length + key.length
  }
  await flush()
}

/** In the order in which an API server prints it. */
function completed({ kind, apiVersion, metadata, ...rest }: KubeObject, key: string): KubeObject {
  const { name, namespace, labels, annotations } = metadata ?? {}
  const own = { uid: `uid-${key}`, creationTimestamp: '2026-01-01T00:00:00Z' }
  const given = { ...(labels === undefined ? {} : { labels }), ...(annotations === undefined ? {} : { annotations }) }
  const place = namespace === undefined ? { name } : { name, namespace }
  return { kind, apiVersion, metadata: { ...place, ...own, ...given }, ...rest } as KubeObject
}
