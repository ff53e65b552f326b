/** What strangers do to the connection itself, before or beside any request. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type ConnectionOptions, connect, createServer } from 'node:tls'
import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { HTTP_TIMES } from '../../src/hub/port/http-settings.ts'
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
} from '../worlds/hub-world.ts'
import { closed } from '../worlds/session-world.ts'

let world: HubWorld

beforeEach(async () => {
  world = await startHub()
})

describe('a slow client', () => {
  it('that never ends its headers (slowloris) is cut off', async () => {
    const socket = await dial(world)
    socket.write('GET /ca.crt HTTP/1.1\r\nHost: hub\r\n')
    await eventually(() => expect(world.clock.pending).toBe(1))
    const cut = closed(socket)
    await world.clock.advance(HTTP_TIMES.headMs)
    await cut
    expect(world.clock.pending).toBe(0)
  })

  it('that never ends its body is told so and cut off', async () => {
    const socket = await dial(world)
    const received: Buffer[] = []
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    const token = `Authorization: Bearer ${await world.cluster.mint()}`
    socket.write(`POST /edge.crt HTTP/1.1\r\nHost: hub\r\n${token}\r\nContent-Length: 100\r\n\r\n-----BEGIN`)
    await eventually(() => expect(world.clock.nextDueMs).toBe(HTTP_TIMES.bodyMs))
    await world.clock.advance(HTTP_TIMES.bodyMs)
    await eventually(() => expect(Buffer.concat(received).toString()).toContain('"code":"too-slow"'))
    const cut = closed(socket)
    await world.clock.advance(HTTP_TIMES.lingerMs)
    await cut
  })

  it('without a token is not even listened to', async () => {
    const socket = await dial(world)
    socket.write('POST /edge.crt HTTP/1.1\r\nHost: hub\r\nContent-Length: 100\r\n\r\n-----BEGIN')
    const received: Buffer[] = []
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    await eventually(() => expect(Buffer.concat(received).toString()).toContain('"code":"token-missing"'))
    const cut = closed(socket)
    await world.clock.advance(HTTP_TIMES.lingerMs)
    await cut
  })

  it('that never speaks after its HTTP/2 handshake is cut off', async () => {
    const socket = await dial(world, { ALPNProtocols: ['h2'] })
    await eventually(() => expect(world.clock.pending).toBe(1))
    const cut = closed(socket)
    await world.clock.advance(HTTP_TIMES.headMs + HTTP_TIMES.lingerMs)
    await cut
  })
})

/** Connects, takes the session the server gives, and offers it again: whether the server takes it up. */
async function isResumed(options: ConnectionOptions): Promise<boolean> {
  let session: Buffer | undefined
  const visit = async (offered?: Buffer): Promise<boolean> => {
    const socket = connect({ ...options, ...(offered === undefined ? {} : { session: offered }) })
    socket.on('session', (given: Buffer) => {
      session = given
    })
    await once(socket, 'secureConnect')
    const isReused = socket.isSessionReused()
    socket.write('GET /v1/node HTTP/1.1\r\nHost: hub\r\n\r\n')
    await closed(socket)
    return isReused
  }
  await visit()
  expect(session).toBeInstanceOf(Buffer)
  return await visit(session)
}

describe('a resumed session', () => {
  const versions = ['TLSv1.2', 'TLSv1.3'] as const

  it.each(versions)('is never taken up (%s), with and without a server name', async (version) => {
    const credential = await joined(world, 'edge-1')
    for (const servername of [SERVER_NAME, '']) {
      const options = { ...tlsOptions(world, credential), servername, checkServerIdentity: () => undefined }
      expect(await isResumed({ ...options, minVersion: version, maxVersion: version })).toBe(false)
    }
  })

  it.each(versions)('would be taken up by an ordinary server (%s)', async (version) => {
    const { certificatePem: cert, privateKeyPem: key } = await serverIdentity(world.cluster.ca, world.clock)
    const server = createServer({ cert, key }, (socket) => socket.on('error', () => {}).end('hello'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await isResumed({ ...tlsOptions(world), port, minVersion: version, maxVersion: version })).toBe(true)
    server.close()
  })
})

describe('a negotiation in the middle of a connection', () => {
  it('brings in no other certificate: it is refused', async () => {
    const options = { ...(await joined(world, 'edge-1')), maxVersion: 'TLSv1.2' } as const
    const socket = await dial(world, options)
    const refused = once(socket, 'error')
    socket.renegotiate({ rejectUnauthorized: false }, () => {})
    expect(await refused).toMatchObject([{ code: 'ERR_SSL_NO_RENEGOTIATION' }])
  })
})

describe('random bytes after the handshake', () => {
  it.each(['http/1.1', 'h2'])('never end the hub (%s)', async (protocol) => {
    const preface = protocol === 'h2' ? Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n') : Buffer.alloc(0)
    const bytes = fc.uint8Array({ maxLength: 200 })
    const head = fc.constantFrom(preface, Buffer.from('GET / HTTP/1.1\r\n'), Buffer.alloc(0))
    await fc.assert(
      fc.asyncProperty(head, bytes, async (first, rest) => {
        const socket = await dial(world, { ALPNProtocols: [protocol] })
        const cut = closed(socket)
        socket.end(Buffer.concat([first, rest]))
        await cut
      }),
      { numRuns: 30 },
    )
    expect((await ask(world, { path: '/ca.crt' })).status).toBe(200)
    await eventually(() => expect(world.clock.pending).toBe(0))
  })
})
