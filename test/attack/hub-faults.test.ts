/**
 * What serves a connection to the hub, or to one of its fronts, throws: whoever is there loses the connection, the hub stands,
 * and the next one is served.
 */
import type { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Route } from '../../src/hub/port/http-routes.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { SafetyNet } from '../../src/process/safety-net.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { startFront } from '../worlds/front-world.ts'
import { startHub } from '../worlds/hub-world.ts'
import { http1Client, http2Client } from './fault-clients.ts'
import { Escapes, Fault } from './faults.ts'

const net = (logger: Logger, registry: Registry) => new SafetyNet({ clock: systemClock, logger, registry })
let escapes: Escapes

beforeEach(() => {
  escapes = new Escapes()
})
afterEach(() => escapes.release())

async function caught(registry: Registry): Promise<number> {
  const { values = [] } = (await registry.getSingleMetric('causeway_caught_errors_total')?.get()) ?? {}
  return values.reduce((sum, { value }) => sum + value, 0)
}

function fail(): never {
  throw new Fault('a step failed')
}

const ok = { status: 200, headers: {}, contentType: 'text/plain', body: 'ok\n' }
const routes: Route[] = [
  { method: 'GET', path: '/header', handle: () => Promise.resolve({ ...ok, headers: { 'x bad': 'a' } }) },
  {
    method: 'GET',
    path: '/body',
    handle: () =>
      Promise.resolve({
        ...ok,
        get body() {
          return fail()
        },
      }),
  },
]

describe('the port of the hub', () => {
  it.each(['/header', '/body'])('stands when the answer of %s cannot be sent', async (path) => {
    const world = await startHub({ net, routes })
    const tls = { port: world.port, ca: certificatePem(world.cluster.ca.certificate) }
    for (const client of [http1Client(tls), http2Client(tls)]) {
      const before = await caught(world.registry)
      expect(await client.ask({ path }), client.name).toBe('cut')
      expect(await client.ask({ path: '/ca.crt' }), client.name).toBe(200)
      expect(await caught(world.registry), client.name).toBeGreaterThan(before)
      client.close()
    }
    await escapes.expectNone()
    expect(world.log.some(({ msg, level }) => level === 'error' && msg === 'an unexpected error was caught')).toBe(true)
  })

  it('stands when a switch of protocols fails', async () => {
    const world = await startHub({ net, upgrade: { path: '/switch', handle: fail } })
    const tls = { port: world.port, ca: certificatePem(world.cluster.ca.certificate) }
    const client = http1Client(tls)
    const headers = { connection: 'Upgrade', upgrade: 'websocket' }
    expect(await client.ask({ path: '/switch', headers })).toBe('cut')
    expect(await client.ask({ path: '/ca.crt' })).toBe(200)
    expect(await caught(world.registry)).toBe(1)
    client.close()
    await escapes.expectNone()
  })
})

describe('a front', () => {
  const dial = () => Promise.reject(new Error('nobody dials here'))

  it('stands when serving a connection fails', async () => {
    let isBroken = true
    const handler = () => (isBroken ? fail() : { drain: () => {} })
    const world = await startFront({ dial, net, handler })
    const client = await world.dial()
    await expect.poll(() => client.hasEnded).toBe(true)
    client.socket.destroy()
    isBroken = false
    const next = await world.dial()
    expect(next.hasEnded).toBe(false)
    next.socket.destroy()
    await escapes.expectNone()
    expect(await world.count('causeway_caught_errors_total')).toBe(1)
  })

  it.each(['data', 'end', 'close'])('stands when what hears of %s fails', async (event) => {
    const world = await startFront({
      dial,
      net,
      handler: (socket) => {
        socket.once('end', () => socket.end())
        socket.on(event, fail).resume()
        return { drain: () => {} }
      },
    })
    const client = await world.dial()
    client.socket.end('CONNECT a:1 HTTP/1.1\r\n\r\n')
    await expect.poll(() => world.count('causeway_caught_errors_total')).toBeGreaterThan(0)
    await expect.poll(() => world.count('causeway_hub_front_connections')).toBe(0)
    await escapes.expectNone()
  })
})
