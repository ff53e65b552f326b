/** An edge gets the credentials of its node from a hub as it runs, before our own API server: only the disk is temporary. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { NodeCertificates, type NodeCertificatesOptions } from '../../../src/edge/certificates/node-certificates.ts'
import { HubClient } from '../../../src/edge/hub/hub-client.ts'
import { parseHubUrls } from '../../../src/edge/hub/hub-url.ts'
import { createKeeperMetrics } from '../../../src/edge/identity/keeper-metrics.ts'
import { KubeProxyTokenKeeper } from '../../../src/edge/kubeconfigs/kube-proxy-token.ts'
import { kubeconfigPaths, writeKubeconfigs } from '../../../src/edge/kubeconfigs/kubeconfig-files.ts'
import { createTokenMetrics } from '../../../src/edge/kubeconfigs/token-metrics.ts'
import { KubeProxyAccount } from '../../../src/hub/kube-proxy-token/kube-proxy-account.ts'
import { tokenLimits, tokenRoutes } from '../../../src/hub/kube-proxy-token/token-routes.ts'
import { NodeBudget } from '../../../src/hub/port/node-budget.ts'
import { WorkGate } from '../../../src/hub/port/overload.ts'
import { readCertificates } from '../../../src/identity/certificate.ts'
import { privateKeyPem } from '../../../src/identity/keys.ts'
import { readMaterial } from '../../../src/kube/client/connection.ts'
import { KubeClient, loadKubeconfig, secrets, selfSubjectReviews, services } from '../../../src/kube/index.ts'
import { isForbidden } from '../../../src/kube/status/predicates.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { type ComposedHubs, startComposedHubs } from '../../worlds/composed-hub.ts'
import {
  type Credential,
  eventually,
  type HubAddress,
  joined,
  join as joinHub,
  signingRequest,
  startHub,
} from '../../worlds/hub-world.ts'

const logger = pino({ level: 'silent' })
const neverEnding = new AbortController().signal
let world: ComposedHubs
let hub: HubAddress
let caPem: string

beforeAll(async () => {
  world = await startComposedHubs(1)
  const [first] = world.hubs
  if (first === undefined) throw new Error('there is no hub')
  hub = first
  const { ca } = world.api.connection.tls
  if (ca === undefined) throw new Error('the API server has no CA')
  caPem = (await readMaterial(ca, 'the CA')).toString()
})
afterAll(() => world.stop())

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-credentials-'))
  onTestFinished(() => removeFolder(folder))
  return folder
}

function clientOf({ port, cluster }: HubAddress, { cert, key }: Credential): HubClient {
  const pair = { certificatePem: cert, keyPem: key }
  const hubs = parseHubUrls([`https://127.0.0.1:${port}`])
  return new HubClient({ hubs, clock: systemClock, trust: () => [cluster.ca.certificate], pair: () => pair })
}

async function joinedHere(node: string): Promise<Credential> {
  const { pem, keys } = await signingRequest(node)
  const { body } = await joinHub(hub, (await world.mint()).jwt, pem)
  return { cert: body, key: privateKeyPem(keys.privateKey) }
}

async function start(
  options: Pick<NodeCertificatesOptions, 'node' | 'dataDir' | 'addresses'>,
  fail: (cause: unknown) => void,
): Promise<NodeCertificates> {
  const certificates = await NodeCertificates.load({
    ...options,
    client: clientOf(hub, await joinedHere(options.node)),
    kubernetesCa: readCertificates(caPem, 'the CA of the API server'),
    rejoinAdvice: 'join again',
    clock: systemClock,
    random: Math.random,
    logger,
    metrics: createKeeperMetrics(new Registry()),
  })
  const running = await certificates.start(neverEnding, fail)
  onTestFinished(() => running.stop(AbortSignal.abort()))
  return certificates
}

/** As whoever is in that kubeconfig, which leads straight to the API server here. */
async function clientBy(which: 'kubelet' | 'kubeProxy', dataDir: string): Promise<KubeClient> {
  const { hostname: host, port } = new URL(world.api.connection.server)
  const kubernetesCaFile = join(dataDir, 'kubernetes-ca.crt')
  writeFileSync(kubernetesCaFile, caPem)
  await writeKubeconfigs({ node: 'edge-1', dataDir, kubernetesCaFile, host, port: Number(port) })
  const client = new KubeClient(await loadKubeconfig({ file: kubeconfigPaths(dataDir)[which] }))
  onTestFinished(() => client.close())
  return client
}

describe('the credentials of a node', () => {
  it('are certificates that the cluster signed, under which it is that node', async () => {
    const dataDir = temporaryFolder()
    const certificates = await start({ node: 'edge-1', dataDir, addresses: ['127.0.0.1'] }, (cause) => {
      throw cause
    })
    await eventually(() => expect(certificates.health()).toEqual({ ok: true }))
    const node = await clientBy('kubelet', dataDir)
    const { status } = await node.resource(selfSubjectReviews).create({})
    expect(status?.userInfo).toMatchObject({
      username: 'system:node:edge-1',
      groups: expect.arrayContaining(['system:nodes']),
    })
  })

  it('end the edge where the hub does not list an address of the endpoint', async () => {
    const failures: unknown[] = []
    const addresses = ['127.0.0.1', '192.0.2.7']
    await start({ node: 'edge-2', dataDir: temporaryFolder(), addresses }, (cause) => failures.push(cause))
    await eventually(() => expect(failures).not.toEqual([]))
    expect(failures[0]).toMatchObject({
      message: expect.stringMatching(
        /at 192\.0\.2\.7, which the hub does not list .* it lists 10\.96\.0\.1, 127\.0\.0\.1/,
      ),
    })
  })

  it('are a token file under which kube-proxy may do its work and no more', async () => {
    const dataDir = temporaryFolder()
    const account = new KubeProxyAccount({ client: world.api.client(), namespace: 'causeway-system', audit: logger })
    const routes = tokenRoutes({
      clock: systemClock,
      budget: new NodeBudget(systemClock, tokenLimits),
      gate: new WorkGate(),
      audit: logger,
      kubeProxyOf: () => account,
    })
    const front = await startHub({ routes })
    const paths = kubeconfigPaths(dataDir)
    const keeper = new KubeProxyTokenKeeper({
      file: paths.kubeProxyToken,
      client: clientOf(front, await joined(front, 'edge-1')),
      clock: systemClock,
      random: Math.random,
      logger,
      metrics: createTokenMetrics(new Registry()),
    })
    const running = await keeper.start()
    onTestFinished(() => running.stop(AbortSignal.abort()))
    await eventually(() => expect(keeper.health()).toEqual({ ok: true }))
    const proxy = await clientBy('kubeProxy', dataDir)
    const { status } = await proxy.resource(selfSubjectReviews).create({})
    expect(status?.userInfo?.username).toBe('system:serviceaccount:causeway-system:kube-proxy')
    // The rights that the account was given count a moment later.
    await eventually(async () => expect((await proxy.resource(services).list()).items).not.toEqual([]))
    await expect(proxy.resource(secrets).list()).rejects.toSatisfy(isForbidden)
  })
})
