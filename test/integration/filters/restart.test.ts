/** An endpoint as an edge composes it, stopped and started again on the same data folder while a kubelet stays. */
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createSecureServer, type Http2SecureServer } from 'node:http2'
import { Agent, request } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UnsecuredJWT } from 'jose'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { composeEndpoint, type EdgeEndpoint } from '../../../src/edge/compose-endpoint.ts'
import type { HubClient } from '../../../src/edge/hub/hub-client.ts'
import type { EdgeLinks } from '../../../src/edge/link/edge-links.ts'
import { certificatePem } from '../../../src/identity/certificate.ts'
import type { CertificateAuthority } from '../../../src/identity/issue.ts'
import { nodeSubject } from '../../../src/identity/node-name.ts'
import { startInOrder } from '../../../src/process/part-group.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { createCa, issuePair, keys, NODE, text } from '../../worlds/endpoint-world.ts'
import { kubernetes, slice } from '../../worlds/filters-objects.ts'
import { jsonEvent } from '../../worlds/filters-world.ts'
import { loudNet } from '../../worlds/loud-net.ts'
import { SigningHub } from '../../worlds/signing-hub.ts'

const services = '/api/v1/services'
const resumed = `${services}?watch=1&resourceVersion=200`
const slices = '/apis/discovery.k8s.io/v1/endpointslices?watch=1&resourceVersion=200'
const proxyUser = 'system:serviceaccount:edges:kube-proxy'
const issuedAt = Math.floor(systemClock.nowMs() / 1000)
const proxyToken = new UnsecuredJWT({ sub: proxyUser, iat: issuedAt, exp: issuedAt + 86_400 }).encode()
const never = new AbortController().signal

let ca: CertificateAuthority
let apiServer: Http2SecureServer
let hub: SigningHub
let dataDir: string
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  ca = await createCa('kubernetes')
  hub = new SigningHub(systemClock, ca)
  hub.lifeMs = 3_600_000
  apiServer = createSecureServer(keys(await issuePair(ca, nodeSubject(NODE), 'serverAuth')))
  apiServer.on('stream', (stream, { ':path': path = '' }) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200, 'content-type': 'application/json' })
    stream.end(answerTo(path))
  })
  apiServer.listen(0, '127.0.0.1')
  await once(apiServer, 'listening')
})
afterAll(() => apiServer.close())
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'causeway-restart-'))
})
afterEach(async () => {
  await stop()
  removeFolder(dataDir)
})

function answerTo(path: string): string | Buffer {
  if (path.endsWith('/tokenreviews'))
    return JSON.stringify({ status: { authenticated: true, user: { username: proxyUser } } })
  if (path.includes('endpointslices')) return jsonEvent('MODIFIED', slice('default', 'web', 'web'))
  if (path.includes('watch=')) return jsonEvent('MODIFIED', kubernetes)
  return JSON.stringify({ kind: 'ServiceList', apiVersion: 'v1', metadata: {}, items: [kubernetes] })
}

async function stop(): Promise<void> {
  for (const end of stops.splice(0)) await end()
}

/** A new run of the edge; the one before has ended. */
async function start(disabled: readonly string[]): Promise<EdgeEndpoint> {
  await stop()
  const registry = new Registry()
  const token = { token: proxyToken, expires: new Date((issuedAt + 86_400) * 1000).toISOString() }
  const client = Object.assign(hub, { kubeProxyToken: () => Promise.resolve(token) })
  const open = async () => {
    const stream = connect((apiServer.address() as AddressInfo).port, '127.0.0.1')
    await once(stream, 'connect')
    return { stream }
  }
  const endpoint = await composeEndpoint({
    net: loudNet(),
    settings: {
      port: 0,
      loopback: '127.0.0.1',
      addresses: [],
      writeKubeconfigs: true,
      nat: false,
      filters: { disabled },
    },
    node: NODE,
    dataDir,
    cluster: { apiServerName: 'kubernetes', kubernetesCa: [ca.certificate], kubernetesCaFile: join(dataDir, 'ca.crt') },
    client: client as unknown as HubClient,
    links: { open, rttMs: 1, isUp: true, whyDown: '', onChange: () => () => {} } as unknown as EdgeLinks,
    rejoinAdvice: 'join again',
    clock: systemClock,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    registry,
    keeperMetrics: { expires: () => {}, rotation: () => {}, goodOffline: () => {} },
  })
  const running = await startInOrder(endpoint.parts, never, (cause) => expect(cause).toBeUndefined())
  stops.push(() => running.stop(AbortSignal.abort()))
  await expect.poll(() => existsSync(join(dataDir, 'kube-proxy.kubeconfig'))).toBe(true)
  await expect.poll(() => existsSync(join(dataDir, 'kube-proxy.token'))).toBe(true)
  await expect.poll(() => endpoint.status()?.health.ok).toBe(true)
  return endpoint
}

/** As the kubelet, with the files that the edge keeps for it; or with a token. */
async function ask(endpoint: EdgeEndpoint, path: string, token?: string): Promise<string> {
  const ownKeys = ['crt', 'key'].map((kind) => readFileSync(join(dataDir, `kubelet-client.${kind}`)))
  const asked = request({
    host: '127.0.0.1',
    port: endpoint.status()?.port,
    path,
    ca: certificatePem(ca.certificate),
    agent: new Agent(),
    ...(token === undefined
      ? { cert: ownKeys[0], key: ownKeys[1] }
      : { headers: { authorization: `Bearer ${token}` } }),
  })
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  return await text(response)
}

function written(): unknown {
  return JSON.parse(readFileSync(join(dataDir, 'filter-view.json'), 'utf8'))
}

const others = ['forwardkubesvctraffic', 'inclusterconfig', 'serviceenv', 'localendpoints']

describe('an edge that is started again', () => {
  it('tells a kubelet that resumes to list anew where the filters are others, and nothing where they are the same', async () => {
    let endpoint = await start([])
    await ask(endpoint, services)
    expect(await ask(endpoint, resumed)).toContain('MODIFIED')
    endpoint = await start([])
    expect(await ask(endpoint, resumed)).toContain('MODIFIED')
    endpoint = await start(['masterservice'])
    expect(JSON.parse(await ask(endpoint, resumed))).toMatchObject({ type: 'ERROR', object: { code: 410 } })
    await ask(endpoint, services)
    expect(await ask(endpoint, resumed)).toContain('MODIFIED')
  })

  it('goes by what was configured last', async () => {
    let endpoint = await start([])
    await expect.poll(written).toMatchObject({ filters: ['masterservice', ...others] })
    endpoint.configureFilters({ disabled: ['masterservice'] })
    await expect.poll(written).toMatchObject({ filters: others })
    endpoint = await start(['masterservice'])
    expect(await ask(endpoint, resumed)).toContain('MODIFIED')
    endpoint = await start([])
    expect(await ask(endpoint, resumed)).toContain('"code":410')
  })

  it('knows kube-proxy by the namespace in the token that it keeps', async () => {
    await start([])
    const endpoint = await start(['forwardkubesvctraffic'])
    expect(await ask(endpoint, slices, proxyToken)).toContain('"code":410')
  })
})
