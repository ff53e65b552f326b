/** The konnectivity front alone, before any way into nodes. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { FrontListener } from '../../src/hub/fronts/front-listener.ts'
import { GrpcFront } from '../../src/hub/fronts/grpc-front.ts'
import { createFrontMetrics } from '../../src/hub/fronts/metrics.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { openErrorFrom } from '../../src/tunnel/open-error.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import { removeFolder } from '../remove-folder.ts'
import { loudNet } from './loud-net.ts'

export type FrontDial = (host: string, port: number, options: { readonly signal?: AbortSignal }) => Promise<Duplex>

export interface GrpcFrontWorldOptions {
  readonly clock?: Clock
  /** Why nobody may use it. */
  readonly refusal?: string
}

/** The path of its socket. Stopped at the end of the test. */
export async function startGrpcFront(dial: FrontDial, options: GrpcFrontWorldOptions = {}): Promise<string> {
  const { clock = systemClock, refusal } = options
  const directory = await mkdtemp(join(tmpdir(), 'grpc-front-'))
  onTestFinished(() => removeFolder(directory))
  const path = join(directory, 'front.sock')
  const metrics = createFrontMetrics(new Registry())
  const logger = createLogger({ level: 'fatal', format: 'json', clock: systemClock, destination: { write: () => {} } })
  const dialer = {
    dial: async (host: string, port: number, options: { readonly signal?: AbortSignal }) => {
      try {
        return { stream: await dial(host, port, options), node: 'edge-1' }
      } catch (error) {
        throw openErrorFrom(error)
      }
    },
  }
  const front = new GrpcFront({ net: loudNet(), dialer, clock, budget: new Budget(), metrics, logger })
  const listener = new FrontListener({
    net: loudNet(),
    front: GrpcFront.label,
    address: { kind: 'unix', path },
    handler: (socket, client) => front.serve(socket, refusal === undefined ? client : { ...client, refusal }),
    metrics,
    logger,
    clock: systemClock,
  })
  const running = await listener.start(new AbortController().signal, () => {})
  onTestFinished(() => running.stop(AbortSignal.abort()))
  return path
}
