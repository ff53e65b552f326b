/** Our edge as an agent of the stock server, in both modes of it. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { KonnectivityAgent } from '../../src/edge/konnectivity/konnectivity-agent.ts'
import { createKonnectivityMetrics } from '../../src/edge/konnectivity/metrics.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { ManualClock, systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { OpenError } from '../../src/tunnel/open-error.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import { credentialFor, eventually, serverIdentity } from '../worlds/hub-world.ts'
import { dialAnything } from '../worlds/konnectivity-world.ts'
import { loudNet } from '../worlds/loud-net.ts'
import { Daemon, freePorts } from './control-plane.ts'
import { describeReal } from './harness.ts'
import {
  answers,
  missingKonnectivity,
  runTestClient,
  startTestServer,
  temporaryDirectory,
  writePair,
} from './konnectivity-peers.ts'

const logger = createLogger({ level: 'fatal', format: 'json', clock: systemClock, destination: { write: () => {} } })

type Mode = 'grpc' | 'http-connect'

interface StockServer {
  readonly port: number
  readonly healthPort: number
  readonly socket: string
  readonly tls: { certificatePem: string; privateKeyPem: string; caPem: string }
  readonly server: Daemon
  restart(): Promise<Daemon>
}

async function startServer(mode: Mode): Promise<StockServer> {
  const directory = await temporaryDirectory()
  const clock = new ManualClock(Date.now())
  const ca = await makeCa(clock)
  const caPem = certificatePem(ca.certificate)
  const identity = await serverIdentity(ca, clock)
  const own = { cert: identity.certificatePem, key: identity.privateKeyPem }
  const [cert, key] = await writePair(directory, 'server', own)
  await writeFile(join(directory, 'ca.crt'), caPem)
  const [port = 0, healthPort = 0, admin] = await freePorts(3)
  const socket = join(directory, 'front.sock')
  const start = async (): Promise<Daemon> => {
    const server = await Daemon.start('konnectivity-server', directory, [
      `--mode=${mode}`,
      `--uds-name=${socket}`,
      '--server-port=0',
      '--agent-bind-address=127.0.0.1',
      `--agent-port=${port}`,
      `--cluster-cert=${cert}`,
      `--cluster-key=${key}`,
      `--cluster-ca-cert=${join(directory, 'ca.crt')}`,
      '--health-bind-address=127.0.0.1',
      `--health-port=${healthPort}`,
      `--admin-port=${admin}`,
    ])
    onTestFinished(() => server.kill())
    await eventually(() => answers({ host: '127.0.0.1', port }))
    return server
  }
  const server = await start()
  const credential = await credentialFor(ca, { clock })
  const tls = { certificatePem: credential.cert, privateKeyPem: credential.key, caPem }
  return { port, healthPort, socket, tls, server, restart: start }
}

interface Edge {
  readonly agent: KonnectivityAgent
  readonly registry: Registry
  readonly running: RunningPart
}

async function startEdge({ port, tls }: Pick<StockServer, 'port' | 'tls'>, allowed?: number): Promise<Edge> {
  const registry = new Registry()
  const agent = new KonnectivityAgent({
    net: loudNet(),
    server: { host: '127.0.0.1', port },
    tls: () => tls,
    agentId: 'edge-1',
    identifiers: 'host=edge-1',
    clock: systemClock,
    budget: new Budget(),
    logger,
    metrics: createKonnectivityMetrics(registry),
    backoff: { firstMs: 50, maxMs: 200 },
    random: systemRandom.fraction,
    dial: (address, { signal }) => {
      if (allowed === undefined || address === `127.0.0.1:${allowed}`) return dialAnything(address, signal)
      return Promise.reject(new OpenError('denied', `${address} is not a destination of this edge`))
    },
  })
  const running = await agent.start(new AbortController().signal)
  let isStopped = false
  const stop = async (deadline: AbortSignal): Promise<void> => {
    if (isStopped) return
    isStopped = true
    await running.stop(deadline)
  }
  onTestFinished(() => stop(AbortSignal.abort()))
  return { agent, registry, running: { stop } }
}

async function connected(server: StockServer, allowed?: number): Promise<Edge> {
  const edge = await startEdge(server, allowed)
  await untilConnected(server, edge)
  return edge
}

/** Both think so: the server greets an agent before it counts on it. */
async function untilConnected({ healthPort }: StockServer, { agent }: Edge): Promise<void> {
  await eventually(() => expect(agent.connectedServers).toBe(1))
  await eventually(async () => expect((await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status).toBe(200))
}

function suite(): void {
  describe.each<Mode>(['grpc', 'http-connect'])('in its mode %s', (mode) => {
    it('serves the stock client', async () => {
      const server = await startServer(mode)
      const edge = await connected(server)
      const port = await startTestServer()
      const { ok, output } = await runTestClient(server.socket, port, mode, ['--test-requests=25'])
      expect([ok, ok ? '' : output]).toEqual([true, ''])
      await eventually(() => expect(edge.agent.streamCount).toBe(0))
    })

    it('reaches nothing that the edge does not allow', async () => {
      const server = await startServer(mode)
      const port = await startTestServer()
      const other = await startTestServer()
      await connected(server, port)
      expect((await runTestClient(server.socket, port, mode)).ok).toBe(true)
      const { ok, output } = await runTestClient(server.socket, other, mode)
      expect([ok, output]).toEqual([false, expect.stringContaining(mode === 'grpc' ? 'denied' : '502')])
    })

    it('is found again after it was killed', async () => {
      const server = await startServer(mode)
      const edge = await connected(server)
      await server.server.kill()
      await eventually(() => expect(edge.agent.connectedServers).toBe(0))
      await server.restart()
      await untilConnected(server, edge)
      expect((await runTestClient(server.socket, await startTestServer(), mode)).ok).toBe(true)
    })
  })

  it('is left in good order', async () => {
    const server = await startServer('grpc')
    const { running, agent } = await connected(server)
    await running.stop(new AbortController().signal)
    await eventually(() => expect(agent.connectedServers).toBe(0))
  })

  it('is not spoken to if another CA made its certificate', async () => {
    const server = await startServer('grpc')
    const caPem = certificatePem((await makeCa(systemClock, 'another-ca')).certificate)
    const { agent, registry } = await startEdge({ ...server, tls: { ...server.tls, caPem } })
    await eventually(async () => expect(await registry.metrics()).toContain('result="failed"} 3'))
    expect(agent.connectedServers).toBe(0)
  })
}

describeReal('our edge at the stock konnectivity server', suite, [], missingKonnectivity())
