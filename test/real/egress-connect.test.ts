/**
 * A real kube-apiserver whose cluster egress goes through the CONNECT front. The names and addresses it asks for exist on this
 * machine only behind the front: an edge played by the test, with a kubelet and a webhook that answer as real ones do.
 */
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, type Server } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ConnectFront } from '../../src/hub/fronts/connect-front.ts'
import type { FrontHandler } from '../../src/hub/fronts/front-client.ts'
import { type FrontAddress, FrontListener } from '../../src/hub/fronts/front-listener.ts'
import { createFrontMetrics } from '../../src/hub/fronts/metrics.ts'
import { createRouteMetrics } from '../../src/hub/routing/metrics.ts'
import { NodeIndex } from '../../src/hub/routing/node-index.ts'
import type { NodeRoute, NodeRoutes, RouteDialOptions } from '../../src/hub/routing/node-route.ts'
import { PROXY_STRATEGIES } from '../../src/hub/routing/proxy-strategies.ts'
import { RouteDialer } from '../../src/hub/routing/route-dialer.ts'
import { RouteTable } from '../../src/hub/routing/route-table.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { KubeClient, loadKubeconfig } from '../../src/kube/index.ts'
import type { Part, RunningPart } from '../../src/process/lifecycle.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { OpenError } from '../../src/tunnel/open-error.ts'
import { removeFolder } from '../remove-folder.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import { loudNet } from '../worlds/loud-net.ts'
import { peersDirectory } from './control-plane.ts'
import { type ControlPlane, describeReal, kubectl, startControlPlane } from './harness.ts'
import { type ClientRun, runTestClient } from './konnectivity-peers.ts'

const hourMs = 60 * 60 * 1000
const never = new AbortController().signal
const folder = mkdtempSync(join(tmpdir(), 'causeway-egress-'))
const file = (name: string): string => join(folder, name)

const logger = pino({ level: 'silent' })
let ca: CertificateAuthority
let plane: ControlPlane
let client: KubeClient
let registry: Registry
const running: RunningPart[] = []
const servers: (Server | HttpServer)[] = []
/** What the played edge admits, and the port it is at. */
const admitted = new Map<string, number>()
const dialled: string[] = []

async function pairFor(names: { dnsNames?: string[]; ipAddresses?: string[] }, commonName: string) {
  const { privateKey, publicKey } = await generateKeys()
  const certificate = await issueCertificate(
    ca,
    {
      ...validityFromNow(systemClock, hourMs),
      subject: userName(commonName),
      names,
      extendedKeyUsages: ['serverAuth', 'clientAuth'],
    },
    publicKey,
  )
  return { cert: certificatePem(certificate), key: privateKeyPem(privateKey) }
}

async function serve(destination: string, server: Server | HttpServer): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  admitted.set(destination, (server.address() as AddressInfo).port)
}

async function startKubelet(): Promise<void> {
  const server = createHttpsServer(await pairFor({ dnsNames: ['edge-1'] }, 'edge-1'), (request, response) => {
    const url = new URL(request.url ?? '', 'https://edge-1')
    if (!url.pathname.startsWith('/containerLogs/default/web/')) return response.writeHead(404).end()
    response.write('first line\n')
    response.end(url.searchParams.has('follow') ? 'followed line\n' : 'second line\n')
    return response
  })
  await serve('edge-1:10250', server)
}

async function startWebhook(destination: string): Promise<void> {
  const pair = await pairFor({ dnsNames: ['hook.default.svc'] }, 'hook')
  const server = createHttpsServer(pair, (request, response) => void refuse(request, response))
  await serve(destination, server)
}

async function refuse(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body: Buffer[] = []
  for await (const chunk of request) body.push(chunk as Buffer)
  const review = JSON.parse(Buffer.concat(body).toString()) as { request: { uid: string } }
  const status = { message: 'the webhook behind the front says no' }
  const answer = { ...review, response: { uid: review.request.uid, allowed: false, status } }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

const edge: NodeRoute = {
  node: 'edge-1',
  kind: 'session',
  sinceMs: 0,
  rttMs: undefined,
  streamCount: 0,
  description: 'played by the test',
  isGoingAway: false,
  dial: async ({ address }: RouteDialOptions) => {
    dialled.push(address)
    const port = admitted.get(address)
    if (port === undefined) throw new OpenError('denied', `${address} is not admitted`)
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    await once(socket, 'connect')
    return socket
  },
}
const routes: NodeRoutes = { all: [edge], of: (node) => (node === edge.node ? edge : undefined) }

/** Listeners of one front, with routing by that table. */
function frontFor(table: RouteTable | NodeIndex): (address: FrontAddress) => FrontListener {
  const clock = systemClock
  registry = new Registry()
  const dialer = new RouteDialer({ table, routes, metrics: createRouteMetrics(registry, table), clock })
  const metrics = createFrontMetrics(registry)
  const front = new ConnectFront({ dialer, clock, metrics, logger })
  const handler: FrontHandler = (socket, peer) => front.serve(socket, peer)
  return (address) =>
    new FrontListener({ net: loudNet(), front: ConnectFront.label, address, handler, clock, metrics, logger })
}

async function start(part: Part): Promise<void> {
  const fail = (cause: unknown): never => {
    throw cause
  }
  running.push(await part.start(never, fail))
}

async function startFronts(): Promise<FrontListener> {
  const index = new NodeIndex({ client, clock: systemClock, logger, strategies: PROXY_STRATEGIES })
  const listener = frontFor(index)
  const { cert, key } = await pairFor({ dnsNames: ['front.example'] }, 'front')
  const identity = { certificatePem: cert, privateKeyPem: key }
  const tls = { identity: () => identity, trust: () => [ca.certificate], allowedNames: ['kas'] }
  const tcp = listener({ kind: 'tcp', listen: { host: '127.0.0.1', port: 0 }, tls })
  for (const part of [index, listener({ kind: 'unix', path: file('front.sock') }), tcp]) await start(part)
  return tcp
}

async function stopAll(): Promise<void> {
  for (const part of running.splice(0).toReversed()) await part.stop(AbortSignal.abort())
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
}

async function writeEgress(transport: object): Promise<void> {
  const connection = { proxyProtocol: 'HTTPConnect', transport }
  const configuration = {
    apiVersion: 'apiserver.k8s.io/v1beta1',
    kind: 'EgressSelectorConfiguration',
    egressSelections: [{ name: 'cluster', connection }],
  }
  await writeFile(file('egress.json'), JSON.stringify(configuration))
}

async function createNode(name: string): Promise<void> {
  await kubectl(plane, ['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name } }))
  const addresses = [{ type: 'Hostname', address: name }]
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: 10250 } } }
  const patch = JSON.stringify({ status })
  await kubectl(plane, ['patch', 'node', name, '--subresource=status', '--type=merge', '-p', patch])
}

function pod(name: string, nodeName: string): string {
  const spec = { nodeName, containers: [{ name: 'main', image: 'none' }] }
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec })
}

function webhook(): object {
  const clientConfig = {
    service: { name: 'hook', namespace: 'default', port: 443 },
    caBundle: Buffer.from(certificatePem(ca.certificate)).toString('base64'),
  }
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }]
  const fixed = {
    name: 'hook.example.com',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    failurePolicy: 'Fail',
  }
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'hook' },
    webhooks: [{ ...fixed, clientConfig, rules }],
  }
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no failure',
    (error: Error) => error.message,
  )
}

afterAll(() => removeFolder(folder))

describeReal('kube-apiserver with its cluster egress through the CONNECT front', () => {
  beforeAll(async () => {
    ca = await makeCa(systemClock)
    await writeFile(file('ca.crt'), certificatePem(ca.certificate))
    const { cert, key } = await pairFor({}, 'kas')
    await writeFile(file('kas.crt'), cert)
    await writeFile(file('kas.key'), key)
    await writeEgress({ uds: { udsName: file('front.sock') } })
    plane = await startControlPlane({
      apiServerFlags: [
        `--egress-selector-config-file=${file('egress.json')}`,
        `--kubelet-certificate-authority=${file('ca.crt')}`,
      ],
    })
    client = new KubeClient(await loadKubeconfig({ file: plane.kubeconfigFile }))
    await startKubelet()
    for (const name of ['edge-1', 'edge-2']) await createNode(name)
    for (const object of [pod('web', 'edge-1'), pod('away', 'edge-2')])
      await kubectl(plane, ['create', '-f', '-'], object)
  })

  afterAll(async () => {
    await stopAll()
    await client?.close()
    await plane?.stop()
  })

  let tcp: FrontListener

  it('gets logs from a node that it could not reach itself', async () => {
    expect(await failureOf(kubectl(plane, ['logs', 'web']))).toContain('edge-1:10250')
    tcp = await startFronts()
    expect(await kubectl(plane, ['logs', 'web'])).toBe('first line\nsecond line\n')
    expect(await kubectl(plane, ['logs', '-f', 'web'])).toBe('first line\nfollowed line\n')
    expect(new Set(dialled)).toEqual(new Set(['edge-1:10250']))
  })

  it('tells its users why a node cannot be reached', async () => {
    expect(await failureOf(kubectl(plane, ['logs', 'away']))).toContain(
      'code 503: 503 no-route: node edge-2 is not connected to this hub',
    )
    expect(dialled).not.toContain('edge-2:10250')
  })

  it('calls an admission webhook behind a Service, whose address belongs to no node', async () => {
    await kubectl(plane, ['create', 'service', 'clusterip', 'hook', '--tcp=443'])
    const clusterIp = await kubectl(plane, ['get', 'service', 'hook', '-o', 'jsonpath={.spec.clusterIP}'])
    await startWebhook(`${clusterIp}:443`)
    await kubectl(plane, ['create', '-f', '-'], JSON.stringify(webhook()))
    await expect
      .poll(async () => await failureOf(kubectl(plane, ['create', 'configmap', 'refused', '--dry-run=server'])), {
        timeout: 90_000,
      })
      .toContain('the webhook behind the front says no')
    expect(dialled).toContain(`${clusterIp}:443`)
    await kubectl(plane, ['delete', 'validatingwebhookconfiguration', 'hook'])
  })

  it('counts no failed dial that the front did not refuse', async () => {
    const text = await registry.metrics()
    expect(text).toMatch(/causeway_hub_front_dials_total\{front="connect",code="ok"\} [1-9]/)
    expect(text).toMatch(/causeway_hub_front_dials_total\{front="connect",code="no-route"\} 1/)
    expect(text).not.toContain('causeway_hub_front_rejected_total{')
  })

  it('does the same over TCP with mutual TLS', async () => {
    const { port } = tcp.boundAddress
    const tlsConfig = { caBundle: file('ca.crt'), clientCert: file('kas.crt'), clientKey: file('kas.key') }
    const url = `https://127.0.0.1:${port}`
    await writeEgress({ tcp: { url, tlsConfig: { ...tlsConfig, tlsServerName: 'front.example' } } })
    await plane.killApiServer()
    await plane.startApiServer()
    expect(await kubectl(plane, ['logs', 'web'])).toBe('first line\nsecond line\n')
    expect(await failureOf(kubectl(plane, ['logs', 'away']))).toContain('503 no-route')
  })
}, ['etcd', 'kube-apiserver', 'kubectl'])

const testClient = join(peersDirectory(), 'konnectivity-test-client')

describeReal(
  "konnectivity's own client in its http-connect mode",
  () => {
    afterAll(stopAll)

    it('gets its answers through the front, and fails where there is no route', async () => {
      const path = file('client.sock')
      await start(frontFor(new RouteTable({ strategies: ['destHost'] }))({ kind: 'unix', path }))
      await serve(
        'edge-1:8000',
        createServer((_request, response) => void response.end('answer of the far end')),
      )
      const request = (host: string): Promise<ClientRun> =>
        runTestClient(path, 8000, 'http-connect', [`--request-host=${host}`, '--test-requests=20'])
      expect(await request('edge-1')).toEqual({ ok: true, output: expect.stringContaining('answer of the far end') })
      expect(await registry.metrics()).toMatch(/causeway_hub_front_dials_total\{front="connect",code="ok"\} [1-9]/)
      expect(await request('edge-9')).toEqual({ ok: false, output: expect.stringContaining('Requests failed: 20') })
    })
  },
  [],
  existsSync(testClient) ? [] : ['konnectivity-test-client'],
)
