/** The contract of stores, on the one in memory. */

import { MemoryStore } from '../../../src/apiserver/storage/memory-store.ts'
import { ManualClock } from '../../../src/runtime/clock.ts'
import { storeContract } from './suite.ts'

async function openBed() {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  return { store, passSeconds: (seconds: number) => clock.advance(seconds * 1000), dispose: () => store.close() }
}

storeContract('MemoryStore', openBed, { runs: 200, leaseSeconds: 30 })
