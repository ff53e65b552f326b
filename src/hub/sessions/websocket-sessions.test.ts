import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/worlds/fake-cluster.ts'
import { type Credential, credentialFor, dial, eventually, joined, tlsOptions } from '../../../test/worlds/hub-world.ts'
import {
  closed,
  driveEdge,
  type Edge,
  letIn,
  metric,
  type SessionWorld,
  startSessionHub,
  startTarget,
} from '../../../test/worlds/session-world.ts'
import { collectText } from '../../../test/worlds/yamux-drivers.ts'
import { INNER_TLS_PROTOCOL, type TunnelProtocol, WEBSOCKET_PROTOCOL } from '../../protocol/versions.ts'
import { upgradeToWebSocket } from '../../tunnel/carriers/dial-websocket.ts'
import { SocketCarrier } from '../../tunnel/socket-carrier.ts'
import { HANDSHAKE_TIMEOUT_MS } from '../port/hub-listener.ts'

async function webSocket({ hub }: SessionWorld, protocol: TunnelProtocol, credential?: Credential): Promise<Duplex> {
  const socket = await dial(hub, { ALPNProtocols: ['http/1.1'], ...credential })
  const url = new URL(`https://127.0.0.1:${hub.port}`)
  const { signal } = new AbortController()
  return await upgradeToWebSocket(socket, { url, protocol, what: 'the hub', limitMs: 60_000, clock: hub.clock, signal })
}

async function innerTls({ hub }: SessionWorld, stream: Duplex, credential?: Credential): Promise<TLSSocket> {
  const { ca, servername } = tlsOptions(hub)
  const settings = { ...(ca === undefined ? {} : { ca }), ...(servername === undefined ? {} : { servername }) }
  const socket = connect({ socket: stream, ALPNProtocols: ['causeway/1'], ...settings, ...credential })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  return socket
}

function driven({ hub }: SessionWorld, stream: Duplex): Edge {
  return driveEdge(hub, new SocketCarrier(stream, 'edge'), stream)
}

async function echoWorld(): Promise<SessionWorld> {
  const { address } = await startTarget((socket) => void socket.pipe(socket))
  return await startSessionHub({ apiServer: address })
}

async function echoes(edge: Edge): Promise<string> {
  const { stream } = edge.open('kube-apiserver')
  stream.end('through')
  return await collectText(stream)
}

describe('a WebSocket at /v1/tunnel', () => {
  it('carries a session', async () => {
    const world = await echoWorld()
    const stream = await webSocket(world, WEBSOCKET_PROTOCOL, await joined(world.hub, 'edge-1'))
    const edge = await letIn(driven(world, stream))
    expect(await echoes(edge)).toBe('through')
    expect(world.registry.of('edge-1')?.description).toMatch(/^websocket 127\.0\.0\.1:\d+$/)
    await world.hub.running.stop(new AbortController().signal)
    await edge.ended
    expect(edge.hasGoneAway()).toBe(true)
  })

  it('is refused with an answer in words, before the upgrade, to who has no certificate or a foreign one', async () => {
    const world = await startSessionHub()
    const { clock } = world.hub
    await expect(webSocket(world, WEBSOCKET_PROTOCOL)).rejects.toMatchObject({
      refusal: { status: 401, code: 'certificate-missing' },
    })
    const foreign = await credentialFor(await makeCa(clock), { clock })
    await expect(webSocket(world, WEBSOCKET_PROTOCOL, foreign)).rejects.toMatchObject({
      refusal: { status: 401, code: 'certificate-invalid' },
    })
    expect(await metric(world.hub, 'causeway_hub_sessions_refused_total')).toBe(2)
  })

  it.each([
    ['another subprotocol', 'Sec-WebSocket-Protocol: chat\r\n', 'subprotocols causeway.v1'],
    ['no key', `Sec-WebSocket-Protocol: ${WEBSOCKET_PROTOCOL}\r\n`, 'Sec-WebSocket-Key'],
    ['no key within', `Sec-WebSocket-Protocol: ${INNER_TLS_PROTOCOL}\r\n`, 'Sec-WebSocket-Key'],
  ])('is a bad request with %s', async (_, header, text) => {
    const world = await startSessionHub()
    const socket = await dial(world.hub, await joined(world.hub, 'edge-1'))
    const head = 'GET /v1/tunnel HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
    socket.write(`${head}Sec-WebSocket-Version: 13\r\n${header}\r\n`)
    const answer = await collectText(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"code":"bad-request"')
    expect(answer).toContain(text)
  })
})

describe('TLS inside a WebSocket', () => {
  it('carries a session of the certificate within; the one around it needs none', async () => {
    const world = await echoWorld()
    const stream = await webSocket(world, INNER_TLS_PROTOCOL)
    const inner = await innerTls(world, stream, await joined(world.hub, 'edge-1'))
    const edge = await letIn(driven(world, inner))
    expect(await echoes(edge)).toBe('through')
    expect(world.registry.of('edge-1')?.description).toMatch(/^websocket\+tls 127\.0\.0\.1:\d+$/)
  })

  it('is drained, and cut off at the deadline, when the hub stops', async () => {
    const world = await echoWorld()
    const stream = await webSocket(world, INNER_TLS_PROTOCOL)
    const edge = await letIn(driven(world, await innerTls(world, stream, await joined(world.hub, 'edge-1'))))
    await edge.open('kube-apiserver').answered
    const deadline = new AbortController()
    const stopped = world.hub.running.stop(deadline.signal)
    await eventually(() => expect(edge.hasGoneAway()).toBe(true))
    deadline.abort()
    await stopped
    await edge.ended
    await eventually(() => expect(world.registry.all).toEqual([]))
  })

  it('gains nothing by a good certificate around it', async () => {
    const world = await startSessionHub()
    const { clock } = world.hub
    const stream = await webSocket(world, INNER_TLS_PROTOCOL, await joined(world.hub, 'edge-1'))
    const foreign = await credentialFor(await makeCa(clock), { clock, node: 'edge-1' })
    const edge = driven(world, await innerTls(world, stream, foreign))
    await edge.ended
    expect(world.registry.all).toEqual([])
    expect(await metric(world.hub, 'causeway_hub_sessions_refused_total', { code: 'certificate-invalid' })).toBe(1)
  })

  it('is cut off where nobody begins a handshake, or something else', async () => {
    const world = await startSessionHub()
    const silent = await webSocket(world, INNER_TLS_PROTOCOL)
    const silentClosed = closed(silent)
    await eventually(() => expect(world.hub.clock.pending).toBeGreaterThan(1))
    await world.hub.clock.advance(HANDSHAKE_TIMEOUT_MS)
    await silentClosed
    const garbage = await webSocket(world, INNER_TLS_PROTOCOL)
    garbage.write('GET / HTTP/1.1\r\n\r\n')
    await closed(garbage)
    expect(world.registry.all).toEqual([])
  })
})
