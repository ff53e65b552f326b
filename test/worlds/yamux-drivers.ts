/** Two driven sessions over a pair of carriers, for tests of everything above the state machine. */
import type { Readable } from 'node:stream'
import { ManualClock } from '../../src/runtime/clock.ts'
import type { Carrier } from '../../src/tunnel/carrier.ts'
import { SessionDriver } from '../../src/tunnel/session-driver.ts'
import type { TunnelStream } from '../../src/tunnel/tunnel-stream.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import type { SessionError } from '../../src/tunnel/yamux/errors.ts'
import type { SessionLimits } from '../../src/tunnel/yamux/limits.ts'
import { loudNet } from './loud-net.ts'

export interface DrivenEnd {
  readonly driver: SessionDriver
  readonly budget: Budget
  /** Streams the other end opened, in order. */
  readonly incoming: TunnelStream[]
  readonly ended: Promise<SessionError>
}

export interface DrivenPair {
  readonly clock: ManualClock
  readonly client: DrivenEnd
  readonly server: DrivenEnd
}

export interface DrivenOptions {
  readonly limits?: Partial<SessionLimits>
  /** What the server does with streams; they are only collected where it is absent. */
  readonly serve?: (stream: TunnelStream, clock: ManualClock) => void
}

export function drive(near: Carrier, far: Carrier, { limits, serve }: DrivenOptions = {}): DrivenPair {
  const clock = new ManualClock()
  const end = (role: 'client' | 'server', carrier: Carrier): DrivenEnd => {
    const incoming: TunnelStream[] = []
    const budget = new Budget()
    let resolveEnded: (error: SessionError) => void = () => {}
    const ended = new Promise<SessionError>((resolve) => {
      resolveEnded = resolve
    })
    const onStream = (stream: TunnelStream): void => {
      incoming.push(stream)
      if (role === 'server') serve?.(stream, clock)
    }
    const handler = { onStream, onEnd: resolveEnded }
    const driver = new SessionDriver({
      net: loudNet(),
      role,
      carrier,
      clock,
      budget,
      handler,
      ...(limits && { limits }),
    })
    return { driver, budget, incoming, ended }
  }
  return { clock, server: end('server', far), client: end('client', near) }
}

/** Lets everything that is under way in memory arrive. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** All bytes up to the end. Unlike an iterator it leaves the stream's other direction alone. */
export function collect(stream: Readable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.once('end', () => resolve(Buffer.concat(chunks)))
    stream.once('error', reject)
  })
}

export async function collectText(stream: Readable): Promise<string> {
  return (await collect(stream)).toString()
}
