/**
 * What a node needs to be a node, from a real cluster through a hub with the rights of deploy/hub-rbac.yaml: its two
 * certificates from the real signers, and the token of its kube-proxy.
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { NodeCertificates } from '../../src/edge/certificates/node-certificates.ts'
import { HubClient } from '../../src/edge/hub/hub-client.ts'
import { parseHubUrls } from '../../src/edge/hub/hub-url.ts'
import { createKeeperMetrics } from '../../src/edge/identity/keeper-metrics.ts'
import { KubeProxyTokenKeeper } from '../../src/edge/kubeconfigs/kube-proxy-token.ts'
import { kubeconfigPaths, writeKubeconfigs } from '../../src/edge/kubeconfigs/kubeconfig-files.ts'
import { createTokenMetrics } from '../../src/edge/kubeconfigs/token-metrics.ts'
import { certificatePem, readCertificates } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { issueSelfSignedCa, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { configMaps, endpointSlices } from '../../src/kube/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { endAll } from '../e2e/harness.ts'
import { HubCluster, type RunningHub } from '../e2e/hub-cluster.ts'
import { Daemon, startControlPlane } from './control-plane.ts'
import { type ControlPlane, describeReal, kubectl } from './harness.ts'
import { HUB_NAMESPACE, type HubPlane, startHubPlane } from './hub-plane.ts'

const patience = { timeout: 120_000, interval: 100 }
const logger = pino({ level: 'silent' })
const openssl = promisify(execFile)

describeReal('the credentials of a node', () => {
  let world: HubPlane
  let plane: ControlPlane
  let cluster: HubCluster
  let hub: RunningHub
  let publisher: Daemon
  let client: HubClient

  beforeAll(async () => {
    world = await startHubPlane()
    ;({ plane, cluster } = world)
    publisher = await Daemon.start('kube-controller-manager', plane.directory, [
      `--kubeconfig=${plane.kubeconfigFile}`,
      '--controllers=root-ca-certificate-publisher-controller',
      `--root-ca-file=${plane.caFile}`,
      '--leader-elect=false',
      '--secure-port=0',
    ])
    hub = await cluster.hub('hub')
    client = await joinedClient(cluster, hub)
    const { hostname: host, port } = new URL(plane.server)
    const kubernetesCaFile = cluster.path('edge-1/kubernetes-ca.crt')
    // Straight to the API server, in whose place the endpoint will be.
    await writeKubeconfigs({ node: 'edge-1', dataDir: dataDir(), kubernetesCaFile, host, port: Number(port) })
  })
  afterAll(async () => {
    await publisher?.kill()
    await world?.stop()
  })

  function dataDir(): string {
    return cluster.path('edge-1')
  }

  it('are two certificates: one that pods trust at every address, one that is the node at the API server', async () => {
    const addresses = ['127.0.0.1', '::1', '169.254.30.10']
    const certificates = await started(cluster, client, addresses)
    await vi.waitFor(() => expect(certificates.health()).toEqual({ ok: true }), patience)
    const rootCa = async (): Promise<string | undefined> =>
      (await cluster.client.resource(configMaps).in('default').get('kube-root-ca.crt')).data?.['ca.crt']
    cluster.write('kube-root-ca.crt', (await vi.waitFor(rootCa, patience)) ?? '')
    for (const address of addresses) {
      const args = ['verify', '-purpose', 'sslserver', '-verify_ip', address, '-CAfile', 'kube-root-ca.crt']
      const { stdout } = await openssl('openssl', [...args, join('edge-1', 'serving.crt')], { cwd: cluster.folder })
      expect(stdout).toContain(': OK')
    }
    const who = await kubectl(asKubelet(), ['auth', 'whoami', '-o', 'json'])
    expect(JSON.parse(who)).toMatchObject({
      status: {
        userInfo: { username: 'system:node:edge-1', groups: expect.arrayContaining(['system:nodes']) },
      },
    })
  })

  it('are a token under which kube-proxy may do its work and no more', async () => {
    const keeper = new KubeProxyTokenKeeper({
      file: kubeconfigPaths(dataDir()).kubeProxyToken,
      client,
      clock: systemClock,
      random: Math.random,
      logger,
      metrics: createTokenMetrics(new Registry()),
    })
    const running = await keeper.start()
    onTestFinished(() => running.stop(AbortSignal.abort()))
    await vi.waitFor(() => expect(keeper.health()).toEqual({ ok: true }), patience)
    const leftMs = new Date(keeper.status.ends ?? 0).getTime() - systemClock.nowMs()
    expect(Math.abs(leftMs / 3_600_000 - 24)).toBeLessThan(0.1)
    const who = await kubectl(asKubeProxy(), ['auth', 'whoami', '-o', 'json'])
    const username = `system:serviceaccount:${HUB_NAMESPACE}:kube-proxy`
    expect(JSON.parse(who)).toMatchObject({ status: { userInfo: { username } } })
    expect(await kubectl(asKubeProxy(), ['get', 'services', '-A', '-o', 'name'])).toContain('service/kubernetes')
    const slice = { metadata: { name: 'shown' }, addressType: 'IPv4', endpoints: [{ addresses: ['192.0.2.1'] }] }
    await cluster.client.resource(endpointSlices).in('default').create(slice)
    expect(await kubectl(asKubeProxy(), ['get', 'endpointslices', '-A', '-o', 'name'])).toContain('/shown')
    await expect(kubectl(asKubeProxy(), ['get', 'secrets', '-A'])).rejects.toThrow(/forbidden/i)
  })

  it('are handed out without any right that the hub does not have', () => {
    expect(hub.process.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
    const lines = hub.process.log.filter(({ event }) => event === 'kube-proxy-token')
    expect(lines).toMatchObject([{ node: 'edge-1', result: 'ok', expires: expect.any(String) }])
    expect(JSON.stringify(hub.process.log)).not.toContain(cluster.text('edge-1/kube-proxy.token'))
  })

  it('are refused with the remedy where the account is missing, until somebody applies it', async () => {
    await kubectl(plane, ['delete', 'serviceaccount', 'kube-proxy', '-n', HUB_NAMESPACE])
    await expect(client.kubeProxyToken()).rejects.toMatchObject({
      code: 'hub-lacks-rights',
      retryable: true,
      message: expect.stringMatching(/forbidden.*kubectl apply -f deploy\/hub-rbac\.yaml/),
    })
    await kubectl(plane, ['apply', '-f', join(import.meta.dirname, '../../deploy/hub-rbac.yaml')])
    expect(await client.kubeProxyToken()).toMatchObject({ token: expect.stringMatching(/^ey/) })
  })

  function asKubelet(): Pick<ControlPlane, 'kubeconfigFile'> {
    return { kubeconfigFile: kubeconfigPaths(dataDir()).kubelet }
  }

  function asKubeProxy(): Pick<ControlPlane, 'kubeconfigFile'> {
    return { kubeconfigFile: kubeconfigPaths(dataDir()).kubeProxy }
  }
}, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])

describeReal('a cluster whose signer for kubelets has a CA of its own', () => {
  let plane: ControlPlane
  let signers: Daemon
  let cluster: HubCluster

  beforeAll(async () => {
    plane = await startControlPlane()
    const { privateKey } = await generateKeys()
    const template = { subject: userName('kubelet-signer'), ...validityFromNow(systemClock, 86_400_000) }
    const { certificate } = await issueSelfSignedCa(template, privateKey)
    const foreign = join(plane.directory, 'foreign')
    await writeFile(`${foreign}.crt`, certificatePem(certificate))
    await writeFile(`${foreign}.key`, privateKeyPem(privateKey))
    signers = await Daemon.start('kube-controller-manager', plane.directory, [
      `--kubeconfig=${plane.kubeconfigFile}`,
      '--controllers=csrsigning,csrapproving',
      `--cluster-signing-kubelet-serving-cert-file=${foreign}.crt`,
      `--cluster-signing-kubelet-serving-key-file=${foreign}.key`,
      `--cluster-signing-kubelet-client-cert-file=${plane.caFile}`,
      `--cluster-signing-kubelet-client-key-file=${join(plane.directory, 'ca.key')}`,
      '--leader-elect=false',
      '--secure-port=0',
    ])
    // Hubs that are administrators: what the manifest would bring, they make themselves.
    cluster = await HubCluster.at({ admin: plane.kubeconfigFile, hub: plane.kubeconfigFile })
  })
  afterAll(async () => {
    await cluster?.close()
    await endAll()
    await signers?.kill()
    await plane?.stop()
  })

  it('gives a serving certificate that is said to be none that pods trust, and used all the same', async () => {
    const hub = await cluster.hub('hub')
    const client = await joinedClient(cluster, hub)
    const certificates = await started(cluster, client, ['127.0.0.1'])
    await vi.waitFor(() => {
      expect(certificates.client()).toBeDefined()
      expect(certificates.status.podTrustProblem).toMatch(
        /signed by CN=kubelet-signer \(key id \w+\), and they trust only CN=.*--cluster-signing-kubelet-serving-cert-file/,
      )
    }, patience)
    expect(certificates.serving()).toBeDefined()
    const { token } = await client.kubeProxyToken()
    const who = await kubectl(plane, ['auth', 'whoami', '--token', token, '-o', 'json'])
    const username = `system:serviceaccount:${HUB_NAMESPACE}:kube-proxy`
    expect(JSON.parse(who)).toMatchObject({ status: { userInfo: { username } } })
  })
}, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])

async function joinedClient(cluster: HubCluster, { url }: RunningHub): Promise<HubClient> {
  await cluster.join('edge-1', url, await cluster.token('token-1', { node: 'edge-1' }))
  const { cert, key } = cluster.credential('edge-1')
  const trust = readCertificates(cluster.text('edge-1/ca.crt'), 'the CA')
  const pair = { certificatePem: cert, keyPem: key }
  return new HubClient({ hubs: parseHubUrls([url]), clock: systemClock, trust: () => trust, pair: () => pair })
}

/** Stopped with the test, which fails if the edge would have ended. */
async function started(
  cluster: HubCluster,
  client: HubClient,
  addresses: readonly string[],
): Promise<NodeCertificates> {
  const certificates = await NodeCertificates.load({
    node: 'edge-1',
    dataDir: cluster.path('edge-1'),
    client,
    addresses,
    kubernetesCa: readCertificates(cluster.text('edge-1/kubernetes-ca.crt'), 'the CA of the cluster'),
    rejoinAdvice: 'join again',
    clock: systemClock,
    random: Math.random,
    logger,
    metrics: createKeeperMetrics(new Registry()),
  })
  const failures: unknown[] = []
  const running = await certificates.start(new AbortController().signal, (cause) => failures.push(cause))
  onTestFinished(async () => {
    await running.stop(AbortSignal.abort())
    expect(failures).toEqual([])
  })
  return certificates
}
