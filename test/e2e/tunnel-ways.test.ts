/** The ways from an edge to a hub that are not straight: WebSockets, a proxy that is asked, and one that opens TLS. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Middleman, startConnectProxy, startTlsOpeningProxy } from '../worlds/carrier-middlemen.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import { endAll, patience, run } from './harness.ts'
import type { RunningHub } from './hub-cluster.ts'
import { linesOf, type TunnelEdge, TunnelWorld } from './tunnel-world.ts'

const hourMs = 3_600_000
/** A name that only proxies can resolve. */
const hubName = 'hub.invalid'

let world: TunnelWorld
let hub: RunningHub
let hubPort: number
const middlemen: Middleman[] = []

beforeAll(async () => {
  world = await TunnelWorld.start()
  hub = await world.cluster.hub('hub', '--advertise', `127.0.0.1,${hubName}`)
  hubPort = Number(new URL(hub.url).port)
})
afterAll(async () => {
  await Promise.all(middlemen.map(async (middleman) => await middleman.stop()))
  await world.cluster.close()
  await endAll()
})

async function between(starting: Promise<Middleman>): Promise<Middleman> {
  const middleman = await starting
  middlemen.push(middleman)
  return middleman
}

async function join(node: string): Promise<void> {
  const token = await world.cluster.token(`token-${node}`, { node })
  expect(await world.cluster.join(node, hub.url, token)).toMatchObject({ code: 0 })
}

async function carrierOf({ port, dataDir }: TunnelEdge): Promise<string | undefined> {
  await world.works(port, patience)
  return (await world.links(dataDir))[0]?.carrier
}

async function stopped({ process }: TunnelEdge): Promise<void> {
  process.kill('SIGTERM')
  expect(await process.exited).toEqual({ code: 0, signal: null })
}

/** A proxy on this machine that opens TLS with a certificate of its own CA, whose file is returned too. */
async function tlsOpeningProxy(caFile: string): Promise<Middleman> {
  const ca = await makeCa(systemClock, 'the company')
  const { privateKey, publicKey } = await generateKeys()
  const names = { dnsNames: [], ipAddresses: ['127.0.0.1'] }
  const template = { ...validityFromNow(systemClock, hourMs), subject: userName('proxy'), names }
  const certificate = await issueCertificate(ca, { ...template, extendedKeyUsages: ['serverAuth'] }, publicKey)
  world.cluster.write(caFile, certificatePem(ca.certificate))
  const identity = { cert: certificatePem(certificate), key: privateKeyPem(privateKey) }
  return await between(startTlsOpeningProxy(hubPort, identity))
}

describe.concurrent('an edge reaches its hub', () => {
  it('over a WebSocket', async () => {
    const edge = await world.edge('edge-1', { hubs: [hub.url], flags: ['--carrier', 'websocket'] })
    expect(await carrierOf(edge)).toMatch(/^websocket /)
    await stopped(edge)
  })

  it('through the proxy that HTTPS_PROXY names, straight or over a WebSocket, and that knows the name of the hub', async () => {
    const proxy = await between(startConnectProxy({ toPort: hubPort, authorization: `Basic ${btoa('me:secret')}` }))
    const environment = { HTTPS_PROXY: `http://me:secret@127.0.0.1:${proxy.port}` }
    const hubs = [`https://${hubName}:${hubPort}`]
    const token = await world.cluster.token('token-edge-2', { node: 'edge-2' })
    const joining = ['edge', 'join', '--hub', hubs.join(), '--token-file', token, '--data-dir', 'edge-2']
    expect(await run(joining, { workingDir: world.cluster.folder, environment })).toMatchObject({ code: 0 })
    const straight = await world.edgeWithCertificatesOf('edge-2', 'straight', { hubs, environment })
    expect(await carrierOf(straight)).toMatch(/^tls .* via /)
    await stopped(straight)
    const flags = ['--carrier', 'websocket']
    const webSocket = await world.edgeWithCertificatesOf('edge-2', 'web-socket', { hubs, environment, flags })
    expect(await carrierOf(webSocket)).toMatch(/^websocket .* via /)
    await stopped(webSocket)
    expect(new Set(proxy.log)).toEqual(new Set([`CONNECT ${hubName}:${hubPort}`]))
    for (const { process } of [straight, webSocket]) expect(process.stderr).not.toContain('secret')
  })

  it('through a proxy that opens TLS, with a handshake of its own inside', async () => {
    await join('edge-3')
    const proxy = await tlsOpeningProxy('company.crt')
    const hubs = [`https://127.0.0.1:${proxy.port}`]
    const flags = ['--inner-tls', '--outer-ca', 'company.crt']
    const edge = await world.edgeWithCertificatesOf('edge-3', 'inner', { hubs, flags })
    expect(await carrierOf(edge)).toMatch(/^websocket\+inner-tls /)
    expect(proxy.log).toContain('GET /v1/tunnel')
    expect(await world.nodeAt('hub', 'edge-3')).toMatchObject({ link: 'up' })
    await stopped(edge)
  })

  it('not through a proxy that opens TLS without --inner-tls, and says what to do', async () => {
    await join('edge-4')
    const proxy = await tlsOpeningProxy('other-company.crt')
    const hubs = [`https://127.0.0.1:${proxy.port}`]
    const edge = await world.edgeWithCertificatesOf('edge-4', 'opened', { hubs })
    const why = expect.stringContaining('--inner-tls') as unknown
    await vi.waitFor(
      () => expect(linesOf(edge.process, 'no session with the hub')).toContainEqual(expect.objectContaining({ why })),
      patience,
    )
    // A link is waited for a moment after the start; then clients are told at once.
    await vi.waitFor(
      async () => await expect(world.get(edge.port)).rejects.toMatchObject({ code: 'ECONNRESET' }),
      patience,
    )
    await stopped(edge)
  })
})
