/** The middle of an API server that gives Services addresses and ports; several may share a store. */
import { ServiceRange } from '../../src/apiserver/services/ip-range.ts'
import { ServiceAllocator } from '../../src/apiserver/services/service-allocator.ts'
import type { Store } from '../../src/apiserver/storage/store.ts'
import type { ManualClock } from '../../src/runtime/clock.ts'
import { type ObjectServer, startObjectServer } from './object-server.ts'

export async function startServiceServer(
  cidr: string,
  shared?: { readonly store: Store; readonly clock: ManualClock },
): Promise<ObjectServer> {
  return await startObjectServer(() => [], {
    shared,
    allocators: (cache, clock) => [
      new ServiceAllocator({ cache, clock, range: new ServiceRange(cidr), store: shared?.store }),
    ],
  })
}
