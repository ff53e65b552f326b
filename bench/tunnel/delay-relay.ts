/**
 * A long line in user space: hands on what it reads, in order, after a fixed time each way. It holds as much as a fast line of
 * that length would, so what limits the speed is the tunnel on both sides of it, not the line.
 */
import { connect, createServer, type Socket } from 'node:net'
import { serveCalls } from './rpc.ts'

/** Under way in one direction of one connection: 640 MB/s at a round trip of 100 ms. */
const maxUnderWayBytes = 32 * 1024 * 1024

export type DelayApi = {
  /** A port that leads to `toPort`. */
  line: (options: { toPort: number; oneWayMs: number }) => Promise<number>
}

export function serveDelay(): void {
  serveCalls({
    line: async ({ toPort, oneWayMs }) => {
      const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
        const far = connect({ port: toPort, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
        carry(near, far, oneWayMs)
        carry(far, near, oneWayMs)
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4096, resolve))
      return (server.address() as { port: number }).port
    },
  } satisfies DelayApi)
}

interface Piece {
  /** Absent: the end. */
  readonly chunk: Buffer | undefined
  readonly dueMs: number
}

function carry(from: Socket, to: Socket, oneWayMs: number): void {
  const pieces: Piece[] = []
  let underWayBytes = 0
  let isTimed = false

  /** What is written counts as under way until the system has taken it. */
  const deliver = (): void => {
    isTimed = false
    const nowMs = performance.now()
    let [due, dueBytes] = [0, 0]
    to.cork()
    for (const { chunk, dueMs } of pieces) {
      if (dueMs > nowMs) break
      due += 1
      dueBytes += chunk?.length ?? 0
      if (chunk === undefined) to.end()
      else to.write(chunk)
    }
    // The callback of an empty write comes when everything before it has gone.
    if (dueBytes > 0 && to.writable) to.write('', () => taken(dueBytes))
    to.uncork()
    pieces.splice(0, due)
    schedule()
  }
  const taken = (bytes: number): void => {
    underWayBytes -= bytes
    if (from.isPaused() && underWayBytes < maxUnderWayBytes) from.resume()
  }
  const schedule = (): void => {
    const [first] = pieces
    if (first === undefined || isTimed || to.destroyed) return
    isTimed = true
    setTimeout(deliver, Math.max(0, first.dueMs - performance.now()))
  }
  const add = (chunk: Buffer | undefined): void => {
    pieces.push({ chunk, dueMs: performance.now() + oneWayMs })
    schedule()
  }

  from.on('data', (chunk: Buffer) => {
    underWayBytes += chunk.length
    if (underWayBytes >= maxUnderWayBytes) from.pause()
    add(chunk)
  })
  from.on('end', () => add(undefined))
  from.on('error', () => {})
  from.on('close', () => setTimeout(() => to.destroy(), oneWayMs * 2 + 100))
}
