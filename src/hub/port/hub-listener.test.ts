import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { describe, expect, it, vi } from 'vitest'
import {
  ask,
  dial,
  eventually,
  type HubWorld,
  joined,
  SERVER_NAME,
  serverIdentity,
  startHub,
  tlsOptions,
} from '../../../test/worlds/hub-world.ts'
import { Refusal } from '../refusal.ts'
import type { ClusterDoor, HubConnection } from './connection.ts'
import { ConnectionLimits } from './connection-limits.ts'

async function metric(world: HubWorld, name: string): Promise<number> {
  const { values = [] } = (await world.registry.getSingleMetric(name)?.get()) ?? {}
  return values.reduce((sum, { value }) => sum + value, 0)
}

/** Settles as the handshake does. */
async function handshake(world: HubWorld, options: object): Promise<TLSSocket> {
  const socket = connect({ ...tlsOptions(world), ...options })
  await new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve).once('error', reject)
  })
  return socket
}

describe('the protocol of a connection', () => {
  const drain = (): void => {}

  it('is chosen in the order of the server: tunnel, HTTP/1.1, HTTP/2', async () => {
    const tunnel = vi.fn(({ socket }: HubConnection) => {
      socket.end('tunnel')
      return { drain }
    })
    const world = await startHub({ tunnel })
    const chosen = async (...ALPNProtocols: string[]): Promise<unknown> =>
      (await dial(world, { ALPNProtocols })).alpnProtocol
    expect(await chosen('h2', 'http/1.1', 'causeway/1')).toBe('causeway/1')
    expect(await chosen('h2', 'http/1.1')).toBe('http/1.1')
    expect(await chosen('h2')).toBe('h2')
    expect(await chosen()).toBe(false)
    await expect(handshake(world, { ALPNProtocols: ['spdy/3'] })).rejects.toThrow(/no application protocol/)
    expect(tunnel).toHaveBeenCalledTimes(1)
  })

  it('is not that of the tunnel where nobody serves it', async () => {
    const world = await startHub()
    await expect(handshake(world, { ALPNProtocols: ['causeway/1'] })).rejects.toThrow(/no application protocol/)
    expect((await dial(world, { ALPNProtocols: ['causeway/1', 'h2'] })).alpnProtocol).toBe('h2')
  })

  it('is HTTP/1.1 where the client names none', async () => {
    const world = await startHub()
    const socket = await dial(world)
    socket.write('GET /ca.crt HTTP/1.1\r\nHost: hub\r\n\r\n')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('TLS', () => {
  it('is not spoken below 1.2', async () => {
    const world = await startHub()
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
    await expect(handshake(world, old)).rejects.toThrow(/protocol version|unsupported protocol/)
    const socket = await handshake(world, { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' })
    expect(socket.getProtocol()).toBe('TLSv1.2')
    socket.destroy()
  })

  it('errors are counted and logged for debugging only', async () => {
    const world = await startHub()
    const socket = connectPlain(world.port, '127.0.0.1')
    socket.end('GET / HTTP/1.0\r\n\r\n').resume()
    await once(socket, 'close')
    await eventually(async () => expect(await metric(world, 'causeway_hub_tls_errors_total')).toBe(1))
    expect(world.log.filter(({ level }) => level !== 'debug').map(({ msg }) => msg)).toEqual(['listening'])
  })

  it('handshakes that take too long are ended', async () => {
    const world = await startHub({ handshakeTimeoutMs: 20 })
    const socket = connectPlain(world.port, '127.0.0.1')
    socket.resume()
    await once(socket, 'close')
    await eventually(async () => expect(await metric(world, 'causeway_hub_tls_errors_total')).toBe(1))
  })

  it('shows a replaced certificate from the next connection on, with and without a server name', async () => {
    const world = await startHub()
    const serials = async (): Promise<(string | undefined)[]> => {
      const options = { checkServerIdentity: () => undefined }
      const sockets = [await dial(world, options), await dial(world, { ...options, servername: '' })]
      return sockets.map((socket) => socket.getPeerX509Certificate()?.serialNumber)
    }
    const [before, ...sameBefore] = await serials()
    world.replaceServerIdentity(await serverIdentity(world.cluster.ca, world.clock))
    const [after, ...sameAfter] = await serials()
    expect(sameBefore).toEqual([before])
    expect(sameAfter).toEqual([after])
    expect(after).not.toBe(before)
  })

  it('keeps the certificate it has when the new one cannot be used', async () => {
    const world = await startHub()
    await dial(world, { servername: '' })
    world.replaceServerIdentity({ certificatePem: 'none', privateKeyPem: 'none' })
    await dial(world, { servername: '' })
    expect(world.log.some(({ level }) => level === 'error')).toBe(true)
    await expect(handshake(world, {})).rejects.toThrow()
  })
})

describe('a part that breaks', () => {
  it('costs one connection, not the hub', async () => {
    let isBroken = true
    const choose = (door: ClusterDoor) => (): ClusterDoor => {
      if (isBroken) throw new Error('no cluster yet')
      return door
    }
    const tunnel = (): never => {
      throw new Error('tunnel broke')
    }
    const world = await startHub({ choose, tunnel })
    await expect(handshake(world, {})).rejects.toThrow()
    await expect(handshake(world, { servername: '' })).rejects.toThrow()
    isBroken = false
    await once((await dial(world, { ALPNProtocols: ['causeway/1'] })).resume(), 'close')
    expect((await ask(world, { path: '/ca.crt' })).status).toBe(200)
    expect(world.log).toContainEqual(expect.objectContaining({ level: 'error', msg: 'cannot serve a connection' }))
  })
})

describe('the server name', () => {
  it('decides the cluster; one that no cluster has completes no handshake, nor does none where none is served', async () => {
    const unknown = new Refusal('not-found', 'no such cluster')
    const world = await startHub({ choose: (door) => (name) => (name === SERVER_NAME ? door : unknown) })
    expect((await ask(world, { path: '/ca.crt' })).status).toBe(200)
    await expect(handshake(world, { servername: 'other.example' })).rejects.toThrow()
    await expect(handshake(world, { servername: '' })).rejects.toThrow()
  })
})

describe('the limits of connections', () => {
  it('hold for one address and for all, and free places are given again', async () => {
    for (const [limits, limit] of [
      [new ConnectionLimits(10, 2), 'address'],
      [new ConnectionLimits(2, 10), 'total'],
    ] as const) {
      const world = await startHub({ limits })
      const first = await dial(world)
      await dial(world)
      await expect(handshake(world, {})).rejects.toThrow()
      expect(await world.registry.metrics()).toContain(`causeway_hub_connections_refused_total{limit="${limit}"} 1`)
      first.destroy()
      await eventually(() => expect(limits.total).toBe(1))
      expect((await ask(world, { path: '/ca.crt' })).status).toBe(200)
    }
  })

  it('count those no more among the strangers of an address who are identified', async () => {
    const limits = new ConnectionLimits(10, 1)
    const tunnel = (connection: HubConnection): { drain(): void } => {
      connection.peer.identified()
      connection.socket.write('hello')
      return { drain: () => connection.socket.destroy() }
    }
    const world = await startHub({ limits, tunnel })
    for (let count = 1; count <= 2; count++) {
      await once(await dial(world, { ALPNProtocols: ['causeway/1'] }), 'data')
      expect(limits.total).toBe(count)
    }
    expect((await ask(world, { path: '/ca.crt' })).status).toBe(200)
  })
})

describe('a stop', () => {
  const deadline = (): AbortController => new AbortController()

  it('ends idle connections at once and lets answers under way end', async () => {
    let answer = (): void => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    let asked = 0
    const handle = async () => {
      asked += 1
      await held
      return { status: 200, contentType: 'text/plain', body: 'done' }
    }
    const world = await startHub({ routes: [{ method: 'GET', path: '/slow', handle }] })
    const idle = await dial(world)
    const idleHttp2 = await dial(world, { ALPNProtocols: ['h2'] })
    idle.resume()
    idleHttp2.resume()
    const answers = [ask(world, { path: '/slow' }), ask(world, { path: '/slow', http2: true })]
    await eventually(async () => expect(await metric(world, 'causeway_hub_connections')).toBe(4))
    await eventually(() => expect([asked, world.clock.pending]).toEqual([2, 4]))
    const stopped = world.running.stop(deadline().signal)
    await Promise.all([once(idle, 'close'), once(idleHttp2, 'close')])
    answer()
    expect((await Promise.all(answers)).map(({ body }) => body)).toEqual(['done', 'done'])
    await stopped
    await eventually(() => expect(world.clock.pending).toBe(0))
  })

  it('cuts what is still under way at the deadline', async () => {
    const world = await startHub({ routes: [{ method: 'GET', path: '/never', handle: () => new Promise(() => {}) }] })
    const answer = ask(world, { path: '/never' })
    const lost = expect(answer).rejects.toThrow()
    await eventually(() => expect(world.clock.nextDueMs).toBe(30_000))
    const limit = deadline()
    const stopped = world.running.stop(limit.signal)
    limit.abort()
    await Promise.all([stopped, lost])
  })

  it('finds no connection and no timer left after ordinary requests', async () => {
    const world = await startHub()
    const credential = await joined(world, 'edge-1')
    for (const http2 of [false, true]) await ask(world, { path: '/v1/node', credential, http2 })
    await eventually(async () => expect(await metric(world, 'causeway_hub_connections')).toBe(0))
    await eventually(() => expect(world.clock.pending).toBe(0))
    await world.running.stop(deadline().signal)
  })
})
