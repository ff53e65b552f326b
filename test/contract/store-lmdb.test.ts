/** The contract of stores, on the embedded one. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LmdbStore } from '../../src/apiserver/storage/lmdb-store.ts'
import { ManualClock } from '../../src/telemetry/clock.ts'
import { storeContract } from './store.ts'

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
      await rm(directory, { recursive: true, force: true })
    },
  }
}

storeContract('LmdbStore', openBed, { runs: 100, leaseSeconds: 30 })
