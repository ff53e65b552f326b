/** The contract of stores, on one that stands around another and leaves everything to it. */
import { decorateStore } from '../../../src/apiserver/storage/decorate-store.ts'
import { MemoryStore } from '../../../src/apiserver/storage/memory-store.ts'
import { ManualClock } from '../../../src/runtime/clock.ts'
import { storeContract } from './suite.ts'

async function openBed() {
  const clock = new ManualClock()
  const store = decorateStore(new MemoryStore(clock), {})
  return { store, passSeconds: (seconds: number) => clock.advance(seconds * 1000), dispose: () => store.close() }
}

storeContract('decorateStore', openBed, { runs: 20, leaseSeconds: 30 })
