/** The links of an edge and the sessions of a hub, both as they run, over real TLS on loopback. */
import { connect, type Socket } from 'node:net'
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { parseDestinationRules } from '../../../src/edge/destinations/destination-rule.ts'
import { createDestinations } from '../../../src/edge/destinations/destinations.ts'
import { Forwards } from '../../../src/edge/forwards/forwards.ts'
import { createAskWhy, createDialSession } from '../../../src/edge/link/dial-session.ts'
import { EdgeLinks } from '../../../src/edge/link/edge-links.ts'
import { REFUSED_RETRY_MIN_MS } from '../../../src/edge/link/link-core.ts'
import { privateKeyPem } from '../../../src/identity/keys.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { makeCa } from '../../worlds/fake-cluster.ts'
import { ask, type Credential, eventually, joined, signingRequest } from '../../worlds/hub-world.ts'
import { loudNet } from '../../worlds/loud-net.ts'
import { type SessionWorld, startSessionHub, startTarget } from '../../worlds/session-world.ts'
import { collectText } from '../../worlds/yamux-drivers.ts'

const node = 'edge-1'
const loopback = '127.0.0.1'
let world: SessionWorld
let local: string
let credential: Credential

beforeEach(async () => {
  const { address: apiServer } = await startTarget((socket) => void socket.pipe(socket))
  ;({ address: local } = await startTarget((socket) => void socket.pipe(socket)))
  world = await startSessionHub({ apiServer })
  credential = await joined(world.hub, node)
})

interface Edge {
  readonly links: EdgeLinks
  readonly forwards: Forwards
  client(): Socket
}

async function startEdge(
  carriers: 'auto' | 'websocket' = 'auto',
  trust?: Awaited<ReturnType<typeof makeCa>>,
): Promise<Edge> {
  const { clock, cluster, port } = world.hub
  const logger = createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock })
  const registry = new Registry()
  const identity = {
    trust: () => [(trust ?? cluster.ca).certificate],
    pair: () => ({ certificatePem: credential.cert, keyPem: credential.key }),
  }
  const destinations = createDestinations({ node, rules: parseDestinationRules([local]), clock, logger, registry })
  const links = new EdgeLinks({
    net: loudNet(),
    hubs: [new URL(`https://${loopback}:${port}`)],
    dial: createDialSession({ ...identity, clock, logger, carriers }),
    askWhy: createAskWhy({ ...identity, clock }),
    clock,
    random: () => 0,
    logger,
    registry,
    serve: (stream) => destinations.serve(stream),
  })
  const forwards = new Forwards({
    net: loudNet(),
    forwards: [{ target: 'kube-apiserver', localPort: 0 }],
    bindAddress: loopback,
    open: async (header, signal) => await links.open(header, signal),
    clock,
    logger,
    registry,
  })
  const running = [await links.start(), await forwards.start()]
  onTestFinished(async () => {
    for (const part of running.reverse()) await part.stop(AbortSignal.abort())
  })
  return { links, forwards, client: () => connect({ ...forwards.status[0]!.listen, allowHalfOpen: true }) }
}

async function up(edge: Edge): Promise<Edge> {
  await eventually(() => expect(edge.links.status[0]?.state).toBe('up'))
  return edge
}

async function echoed(edge: Edge, text: string): Promise<string> {
  const socket = edge.client()
  socket.end(text)
  return await collectText(socket)
}

async function rotate(): Promise<void> {
  const { pem, keys } = await signingRequest(node)
  const headers = { 'content-type': 'application/x-pem-file' }
  const answer = await ask(world.hub, { method: 'POST', path: '/edge.crt', headers, body: pem, credential })
  expect(answer.status, answer.body).toBe(200)
  credential = { cert: answer.body, key: privateKeyPem(keys.privateKey) }
}

describe.each(['auto', 'websocket'] as const)('an edge and a hub, carrier %s', (carriers) => {
  it('carry a local port to the API server, and the hub to what the edge allows', async () => {
    const edge = await up(await startEdge(carriers))
    expect(edge.links.status[0]?.carrier).toMatch(carriers === 'auto' ? /^tls / : /^websocket /)
    expect(await echoed(edge, 'to the cloud')).toBe('to the cloud')
    const route = world.registry.of(node)!
    const stream = await route.dial({ address: local, deadlineMs: 5_000 })
    stream.end('to the edge')
    expect(await collectText(stream)).toBe('to the edge')
    await expect(route.dial({ address: '127.0.0.1:22', deadlineMs: 5_000 })).rejects.toMatchObject({ code: 'denied' })
  })
})

describe('an edge', () => {
  it('that rotates keeps its streams', async () => {
    const edge = await up(await startEdge())
    const socket = edge.client()
    socket.write('before')
    await new Promise((resolve) => socket.once('data', resolve))
    await rotate()
    await edge.links.rotated()
    world.tellClaim(node)
    expect(edge.links.status[0]).toMatchObject({ state: 'up', sessions: 2 })
    expect(await echoed(edge, 'on the new session')).toBe('on the new session')
    socket.end('after')
    expect(await collectText(socket)).toBe('after')
  })

  it('that was forgotten says so, and seldom asks again', async () => {
    const edge = await up(await startEdge())
    await world.hub.cluster.claims.forget(node)
    world.tellClaim(node)
    await eventually(async () => {
      await world.hub.clock.advance(1)
      expect(edge.links.health()).toMatchObject({
        ok: false,
        reason: expect.stringContaining('was forgotten') as unknown,
      })
    })
    const wait = Date.parse(edge.links.status[0]?.nextAttempt ?? '') - world.hub.clock.nowMs()
    expect(wait).toBeGreaterThan(REFUSED_RETRY_MIN_MS / 2)
    await expect(edge.links.open({ target: 'kube-apiserver' })).rejects.toMatchObject({
      code: 'no-route',
      message: expect.stringContaining('was forgotten') as unknown,
    })
  })

  it('does not trust a hub of another CA', async () => {
    const edge = await startEdge('auto', await makeCa(world.hub.clock))
    await eventually(() => expect(edge.links.status[0]?.lastError).toMatch(/certificate/))
    // The hub has seen the end of a good handshake, and then that of the connection.
    await eventually(() => expect(world.registry.size).toBe(0))
  })
})
