import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Gauge } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { loudNet } from '../../test/worlds/loud-net.ts'
import { formatAddress, listen } from '../network/listen.ts'
import { ManualClock } from '../runtime/clock.ts'
import { HEALTHY, type Health, HealthChecks, unhealthy } from '../telemetry/health.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createRoleRegistry } from '../telemetry/metrics.ts'
import { HealthServer, MAX_HEALTH_HEADER_BYTES, MAX_HEALTH_HEADERS, MAX_HEALTH_TARGET_CHARS } from './health-server.ts'
import type { RunningPart } from './lifecycle.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const never = new AbortController().signal

async function serve() {
  const clock = new ManualClock()
  const health = new HealthChecks(clock)
  const logger = createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock })
  const registry = createRoleRegistry('test', { version: '1.2.3' })
  const address = { host: '127.0.0.1', port: 0 }
  const server = new HealthServer({ net: loudNet(), address, health, registry, clock, logger })
  const running = await server.start(never, () => {})
  let stopped = false
  const stop: RunningPart['stop'] = async (deadline) => {
    stopped = true
    await running.stop(deadline)
  }
  cleanups.push(() => (stopped ? undefined : running.stop(AbortSignal.abort())))
  return {
    registry,
    health,
    stop,
    base: `http://${formatAddress(server.boundAddress)}`,
    port: server.boundAddress.port,
  }
}

async function get(url: string, init?: RequestInit) {
  const response = await fetch(url, init)
  return { status: response.status, headers: response.headers, body: await response.text() }
}

async function open(port: number, host = '127.0.0.1'): Promise<Socket> {
  const socket = connect(port, host)
  socket.on('error', () => {})
  cleanups.push(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

describe('HealthServer', () => {
  it.each(['healthz', 'livez', 'readyz'])('answers /%s', async (endpoint) => {
    const { base } = await serve()
    const { status, body, headers } = await get(`${base}/${endpoint}`)
    expect([status, body]).toEqual([200, 'ok'])
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache, private')
  })

  it('fails /readyz with the reason while the process stays alive', async () => {
    const { base, health } = await serve()
    health.addReadiness('link', () => unhealthy('no session with the hub'))
    const ready = await get(`${base}/readyz`)
    expect(ready.status).toBe(500)
    expect(ready.body).toContain('[-]link failed: no session with the hub\n')
    expect((await get(`${base}/healthz`)).status).toBe(200)
    expect((await get(`${base}/readyz?exclude=link&verbose`)).body).toContain('[+]link excluded: ok')
  })

  it('serves the metrics of its registry', async () => {
    const { base } = await serve()
    const { status, body, headers } = await get(`${base}/metrics`)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(body).toContain('causeway_build_info{role="test",version="1.2.3"')
  })

  it('renders once for scrapes that arrive together, and anew for the next', async () => {
    const { base, registry } = await serve()
    let rendered = 0
    registry.registerMetric(
      new Gauge({ name: 'causeway_test_scrapes', help: 'x', registers: [], collect: () => void rendered++ }),
    )
    const { port, hostname } = new URL(base)
    const socket = await open(Number(port), hostname)
    socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(50))
    let received = ''
    for await (const chunk of socket) {
      received += String(chunk)
      if (received.split('HTTP/1.1 200').length > 50) break
    }
    expect(rendered).toBe(1)
    await get(`${base}/metrics`)
    expect(rendered).toBe(2)
  })

  it('answers HEAD without a body', async () => {
    const { base } = await serve()
    const { status, body, headers } = await get(`${base}/healthz`, { method: 'HEAD' })
    expect([status, body, headers.get('content-length')]).toEqual([200, '', '2'])
  })

  it('says what is served for any other path', async () => {
    const { base } = await serve()
    for (const path of ['/', '/healthz/', '/constructor', '/api/v1/pods', '//healthz']) {
      const { status, body } = await get(base + path)
      expect([path, status]).toEqual([path, 404])
      expect(body).toBe('not found; served here: /healthz, /livez, /readyz, /metrics\n')
    }
  })

  it('refuses other methods', async () => {
    const { base } = await serve()
    const { status, headers } = await get(`${base}/healthz`, { method: 'POST', body: 'x'.repeat(100_000) })
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('refuses oversized targets and headers', async () => {
    const { base } = await serve()
    const longTarget = await get(`${base}/healthz?${'x'.repeat(MAX_HEALTH_TARGET_CHARS)}`)
    expect(longTarget.status).toBe(414)
    const bigHeader = await get(`${base}/healthz`, { headers: { x: 'x'.repeat(MAX_HEALTH_HEADER_BYTES) } })
    expect(bigHeader.status).toBe(431)
    const headers = Object.fromEntries(Array.from({ length: MAX_HEALTH_HEADERS }, (_, index) => [`x-${index}`, '1']))
    const manyHeaders = await get(`${base}/healthz`, { headers })
    expect([manyHeaders.status, manyHeaders.body]).toEqual([431, `more than ${MAX_HEALTH_HEADERS} headers\n`])
  })

  it('says precisely that a port is taken', async () => {
    const holder = createServer()
    const address = await listen(holder, { host: '127.0.0.1', port: 0 })
    cleanups.push(() => holder.close())
    const clock = new ManualClock()
    const logger = createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock })
    const options = {
      address,
      health: new HealthChecks(clock),
      registry: createRoleRegistry('t', { version: '1' }),
      clock,
      logger,
      net: loudNet(),
    }
    await expect(new HealthServer(options).start(never, () => {})).rejects.toThrow(
      `cannot listen on 127.0.0.1:${address.port}: another process already listens there`,
    )
  })

  it('says precisely that the machine does not have an address', async () => {
    const server = createServer()
    await expect(listen(server, { host: '192.0.2.1', port: 0 })).rejects.toThrow(
      'cannot listen on 192.0.2.1:0: this machine does not have that address',
    )
  })
})

describe('stopping the HealthServer', () => {
  it('ends idle connections at once, also those that never asked anything', async () => {
    const { port, stop } = await serve()
    const silent = await open(port)
    const keptAlive = await open(port)
    keptAlive.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(keptAlive, 'data')
    const closed = Promise.all([silent, keptAlive].map((socket) => once(socket.resume(), 'close')))
    await stop(never)
    await closed
    await expect(get(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow('fetch failed')
  })

  it('lets an answer that is under way finish', async () => {
    const { port, stop, health } = await serve()
    let finish: (verdict: Health) => void = () => {}
    const asked = new Promise<void>((resolve) => {
      health.addReadiness('slow', () => {
        resolve()
        return new Promise<Health>((settle) => {
          finish = settle
        })
      })
    })
    const answer = get(`http://127.0.0.1:${port}/readyz`)
    await asked
    const stopping = stop(never)
    finish(HEALTHY)
    expect(await answer).toMatchObject({ status: 200, body: 'ok' })
    await stopping
  })

  it('lets an answer finish that is written and not read yet', async () => {
    const { port, stop, registry } = await serve()
    const values = new Gauge({ name: 'large', help: 'x'.repeat(4_000_000), registers: [registry] })
    values.set(1)
    const client = await open(port)
    client.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(10))
    await once(client, 'readable')
    const stopping = stop(never)
    let received = ''
    for await (const piece of client.setEncoding('latin1')) received += piece
    expect(received.match(/\nlarge 1\n/g)).toHaveLength(10)
    await stopping
  })

  it('drops what is under way when the deadline passes', async () => {
    const { port, stop, health } = await serve()
    const asked = new Promise<void>((resolve) => {
      health.addReadiness('stuck', () => {
        resolve()
        return new Promise(() => {})
      })
    })
    const answer = get(`http://127.0.0.1:${port}/readyz`)
    await asked
    const deadline = new AbortController()
    const stopping = stop(deadline.signal)
    deadline.abort()
    await expect(answer).rejects.toThrow('fetch failed')
    await stopping
  })
})
