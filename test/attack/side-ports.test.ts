/**
 * The ports beside the main one, for health, metrics and control: whoever can reach them may try to hold their places or to keep the
 * process busy. A probe is answered all the same.
 */
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Gauge, Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import type { BoundedHttpLimits } from '../../src/process/bounded-http.ts'
import { CONTROL_SOCKET_NAME, ControlSocket, MAX_CONTROL_CONNECTIONS } from '../../src/process/control-socket.ts'
import { HealthServer, MAX_HEALTH_CONNECTIONS } from '../../src/process/health-server.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { HEALTHY, type Health, HealthChecks } from '../../src/telemetry/health.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { removeFolder } from '../remove-folder.ts'
import { loudNet } from '../worlds/loud-net.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const never = new AbortController().signal
const halfOpen = 'GET /healthz HTTP/1.1\r\nhost: x\r\n'

async function startHealth(limits: Partial<BoundedHttpLimits> = {}) {
  const health = new HealthChecks(systemClock)
  const registry = new Registry()
  const logger = pino({ level: 'silent' }) as Logger
  const address = { host: '127.0.0.1', port: 0 }
  const server = new HealthServer({ address, health, registry, clock: systemClock, logger, net: loudNet(), limits })
  const running = await server.start(never, () => {})
  cleanups.push(() => running.stop(AbortSignal.abort()))
  const cut = async (): Promise<number | undefined> =>
    (await registry.getSingleMetric('causeway_health_connections_cut_total')?.get())?.values[0]?.value
  return { health, registry, cut, at: { host: '127.0.0.1', port: server.boundAddress.port } }
}

async function open(at: NetConnectOpts, text = ''): Promise<Socket> {
  const socket = connect(at)
  socket.on('error', () => {})
  cleanups.push(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

/** Errors are closings too: a reset is how most of them look. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    else socket.resume().once('close', () => resolve())
  })
}

/** The status, on a connection of its own. */
function ask(at: { host: string; port: number } | { socketPath: string }, path: string): Promise<number | string> {
  return new Promise((resolve) => {
    request({ ...at, path, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
      .once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'error'))
      .end()
  })
}

describe('the port for health and metrics', () => {
  it.each([
    ['requests whose headers never end', halfOpen],
    ['connections that say nothing', ''],
    ['connections that were answered and stay', `${halfOpen}\r\n`],
  ])('answers a probe while every place is held by %s', async (_name, text) => {
    const { at, cut } = await startHealth()
    const held = []
    for (let place = 0; place < MAX_HEALTH_CONNECTIONS; place++) {
      const socket = await open(at, text)
      if (text.endsWith('\r\n\r\n')) await once(socket, 'data')
      held.push(socket)
    }
    expect(await ask(at, '/healthz')).toBe(200)
    await closing(held[0] as Socket)
    expect(await cut()).toBe(1)
    expect(held.filter((socket) => socket.destroyed)).toHaveLength(1)
  })

  it('answers a probe while every place is held by clients that do not read', async () => {
    const { at, registry } = await startHealth({ maxConnections: 4 })
    registry.registerMetric(new Gauge({ name: 'causeway_test_wide', help: 'x'.repeat(8 * 1024 * 1024), registers: [] }))
    for (let place = 0; place < 4; place++) {
      const socket = await open(at, 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n')
      await once(socket, 'readable')
    }
    expect(await ask(at, '/healthz')).toBe(200)
  })

  it('cuts nobody whose answer is being made', async () => {
    const { at, health } = await startHealth({ maxConnections: 1 })
    let finish: (verdict: Health) => void = () => {}
    const asked = new Promise<void>((resolve) => {
      health.addReadiness('slow', () => {
        resolve()
        return new Promise<Health>((settle) => {
          finish = settle
        })
      })
    })
    const probe = ask(at, '/readyz')
    await asked
    expect(await ask(at, '/healthz')).toBe('ECONNRESET')
    finish(HEALTHY)
    expect(await probe).toBe(200)
  })

  it('cuts requests whose headers never end, soon after their time', async () => {
    const { at } = await startHealth({ headersTimeoutMs: 50 })
    await closing(await open(at, halfOpen))
  })

  it('renders the metrics for crowds, not for each of them', async () => {
    const { at, registry } = await startHealth()
    let rendered = 0
    const collect = (): void => void rendered++
    registry.registerMetric(new Gauge({ name: 'causeway_test_scrapes', help: 'x', registers: [], collect }))
    const scrapers: Socket[] = []
    for (let scraper = 0; scraper < 100; scraper++) scrapers.push(await open(at))
    const answers = scrapers.map((socket) => once(socket, 'data'))
    for (const socket of scrapers) socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n')
    await Promise.all(answers)
    expect(rendered).toBeLessThan(scrapers.length / 4)
  })
})

describe('the control socket', () => {
  it('answers while every place is held by requests whose headers never end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'control-'))
    cleanups.push(() => removeFolder(folder))
    const running = await new ControlSocket(folder, loudNet(), { '/v1/status': () => ({}) }).start(never, () => {})
    cleanups.push(() => running.stop(AbortSignal.abort()))
    const path = join(folder, CONTROL_SOCKET_NAME)
    for (let place = 0; place < MAX_CONTROL_CONNECTIONS; place++) await open({ path }, halfOpen)
    expect(await ask({ socketPath: path }, '/v1/status')).toBe(200)
    expect(await ask({ socketPath: path }, `/${'x'.repeat(1_000)}`)).toBe(414)
  })
})
