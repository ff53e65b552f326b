/** The contract of stores, on the embedded one. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LmdbStore } from '../../../src/apiserver/storage/lmdb-store.ts'
import { ManualClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { storeContract } from './suite.ts'

async function openBed() {
  const clock = new ManualClock()
  const directory = await mkdtemp(join(tmpdir(), 'causeway-lmdb-'))
  let store = await LmdbStore.open(directory, clock)
  return {
    store,
    passSeconds: (seconds: number) => clock.advance(seconds * 1000),
    reopen: async () => {
      await store.close()
      store = await LmdbStore.open(directory, clock)
      return store
    },
    dispose: async () => {
      await store.close()
      removeFolder(directory)
    },
  }
}

storeContract('LmdbStore', openBed, { runs: 100, leaseSeconds: 30 })
