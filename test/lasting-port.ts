/**
 * Ports that stay free while nobody listens on them, so that a process can be told one before it starts, or be killed and
 * started again on its own. A port that the system gave out and got back may belong to the next who asks; these are outside
 * the range it gives out from, and every worker of the test runner has its own.
 */
import { randomInt } from 'node:crypto'
import { checkCanListen, ListenError } from '../src/network/listen.ts'

/** Below what systems give out by themselves, and free of well-known ports of Kubernetes. */
const firstPort = 20_000
const portsPerWorker = 400
const maxWorkers = 25

const firstOfWorker = firstPort + (Number(process.env['VITEST_POOL_ID'] ?? 0) % maxWorkers) * portsPerWorker
// Somebody else may run tests on this machine.
let next = randomInt(portsPerWorker)

export async function lastingPort(): Promise<number> {
  for (let tries = 0; tries < portsPerWorker; tries++) {
    const port = firstOfWorker + (next++ % portsPerWorker)
    try {
      await checkCanListen({ host: '127.0.0.1', port })
      return port
    } catch (error) {
      if (!(error instanceof ListenError)) throw error
    }
  }
  throw new Error(`every port from ${firstOfWorker} to ${firstOfWorker + portsPerWorker - 1} is taken`)
}
