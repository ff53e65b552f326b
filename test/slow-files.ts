/**
 * The test files that `npm test` leaves to `npm run test:slow`: each takes many seconds, and no other way of writing it
 * would take fewer. Every other `*.test.ts` under src/ and test/ is in `npm test` as soon as it is there (those in
 * test/real/ have a command of their own). A file that is not listed here and should be costs time, never a test.
 */
export const slowFiles: readonly string[] = [
  // Whole processes, started and killed many times over.
  'test/e2e/apiserver-crash.test.ts',
  'test/e2e/doctor.test.ts',
  'test/e2e/endpoint.test.ts',
  'test/e2e/hub-crash.test.ts',
  'test/e2e/hub-outage.test.ts',
  'test/e2e/hub-refusals.test.ts',
  'test/e2e/hub.test.ts',
  'test/e2e/link.test.ts',
  'test/e2e/run.test.ts',
  'test/e2e/serving.test.ts',
  'test/e2e/tunnel-refusals.test.ts',
  'test/e2e/tunnel-ways.test.ts',
  'test/e2e/tunnel.test.ts',
  'test/e2e/up.test.ts',
  'test/chaos/chaos.test.ts',
  'test/contract/store/lmdb-disk.test.ts',
  'test/integration/keeping/keeping-crash.test.ts',
  'test/stall/attacks.test.ts',
  'test/stall/crowds.test.ts',
  'test/stall/edge.test.ts',
  'test/stall/floods.test.ts',
  'test/stall/pieces.test.ts',
  'test/stall/policy.test.ts',
  'test/stall/reads.test.ts',
  'test/stall/state.test.ts',
  'test/stall/watches.test.ts',
  'test/stall/writes.test.ts',
  // Floods, until a limit is reached.
  'test/attack/endpoint-connections.test.ts',
  'test/attack/endpoint-floods.test.ts',
  'test/attack/endpoint-neighbours.test.ts',
  'test/contract/carriers/carriers.test.ts',
  // A cloud and an edge for each, which is cut off and started anew.
  'test/attack/replica-disk.test.ts',
  'test/attack/replica-exhausted.test.ts',
  'test/attack/replica-forgotten.test.ts',
  'test/attack/replica-readers.test.ts',
  'test/attack/replica-rights.test.ts',
  'test/attack/replica-tokens.test.ts',
  // Properties with many cases.
  'src/identity/hostile.test.ts',
  'test/contract/store/lmdb.test.ts',
  'test/contract/walker/properties.test.ts',
  // Takes modules apart that others share.
  'test/attack/apiserver-faults.test.ts',
]
