/** Hubs in a real cluster, with the rights of deploy/hub-rbac.yaml and no more: real API server, real signers. */
import { once } from 'node:events'
import { get } from 'node:https'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { HubClient } from '../../src/edge/hub/hub-client.ts'
import { parseHubUrls } from '../../src/edge/hub/hub-url.ts'
import { readCertificates } from '../../src/identity/certificate.ts'
import { createRequest } from '../../src/identity/csr.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import {
  type CertificateSigningRequest,
  certificateSigningRequests,
  KubeClient,
  loadKubeconfig,
  secrets,
} from '../../src/kube/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ask, type HubCluster, type RunningHub } from '../e2e/hub-cluster.ts'
import { type ControlPlane, describeReal, kubectl } from './harness.ts'
import { HUB_NAMESPACE, HUB_USER, type HubPlane, startHubPlane } from './hub-plane.ts'

const hubsInRace = 5
const races = process.env['CAUSEWAY_LONG'] === '1' ? 100 : 2
const patience = { timeout: 60_000, interval: 100 }
const daySeconds = 86_400

describeReal('hubs in a real cluster', () => {
  let world: HubPlane
  let plane: ControlPlane
  let cluster: HubCluster
  let hub: RunningHub
  const clients: KubeClient[] = []

  beforeAll(async () => {
    world = await startHubPlane()
    ;({ plane, cluster } = world)
  })
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()))
    await world?.stop()
  })

  async function clientOf(user: string, ...groups: string[]): Promise<KubeClient> {
    const connection = await loadKubeconfig({ file: plane.kubeconfigFile })
    const impersonation = { user, groups: ['system:authenticated', ...groups], extra: {} }
    const client = new KubeClient({ ...connection, impersonation })
    clients.push(client)
    return client
  }

  it('that start at the same instant end with one CA', async () => {
    for (let round = 0; round < races; round++) {
      await cluster.client.resource(secrets).in(HUB_NAMESPACE).deleteCollection()
      const names = Array.from({ length: hubsInRace }, (_, index) => `race-${index}`)
      const hubs = await Promise.all(names.map((name) => cluster.hub(name, '--log-level', 'error')))
      const cas = await Promise.all(hubs.map(({ url }) => fetchText(`${url}/ca.crt`)))
      expect(new Set(cas).size).toBe(1)
      for (const { process } of hubs) process.kill('SIGKILL')
      await Promise.all(hubs.map(({ process }) => process.exited))
    }
  })

  it('let an edge join with a token, which rotates live and ends with forget', async () => {
    hub = await cluster.hub('hub')
    // After its renewal a certificate has a tenth of its life left, in which it has to be seen that it is revoked.
    const hasty = await cluster.hub('hasty', '--certificate-life', '30s')
    const made = await cluster.admin('token', 'create', '--node', 'edge-1')
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const joined = await cluster.join('edge-1', hasty.url, cluster.write('token', made.stdout))
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('joined as node edge-1;') })
    await cluster.exportCa('hub-ca')
    expect(await cluster.openssl('verify -purpose sslclient -CAfile hub-ca.crt edge-1/edge.crt')).toContain(': OK')
    const told = await cluster.openssl('x509 -in edge-1/edge.crt -noout -subject -ext extendedKeyUsage,keyUsage')
    expect(told).toMatch(/O ?= ?system:nodes, CN ?= ?system:node:edge-1/)
    expect(told).toContain('TLS Web Client Authentication')

    const first = cluster.credential('edge-1')
    const edge = await cluster.edge('edge-1')
    await edge.logged('certificate renewed')
    const revoked = async (): Promise<void> => expect(await ask(hub.url, '/v1/node', first)).toBe('certificate-revoked')
    await vi.waitFor(revoked, patience)
    edge.kill('SIGTERM')
    expect(await edge.exited).toEqual({ code: 0, signal: null })
    const second = cluster.credential('edge-1')
    await cluster.admin('nodes', 'forget', 'edge-1')
    await vi.waitFor(async () => {
      for (const { url } of [hub, hasty])
        expect(await ask(url, '/v1/node', second)).toMatch(/certificate-(revoked|expired)/)
    }, patience)
    hasty.process.kill('SIGTERM')
    expect(await hasty.process.exited).toEqual({ code: 0, signal: null })
  })

  it("get a node's certificates from the signers of the cluster, with what the hub says and nothing else", async () => {
    await cluster.join('edge-2', hub.url, await cluster.token('token-2', { node: 'edge-2' }))
    const client = edgeClient('edge-2')
    for (const purpose of ['serving', 'client'] as const) {
      const content = await client.certificateContent(purpose)
      const { privateKey } = await generateKeys()
      const subject = userName(content.subject.commonName, content.subject.organizations)
      const { dnsNames, ipAddresses } = content
      const names = purpose === 'serving' ? { names: { dnsNames, ipAddresses } } : {}
      const request = await createRequest({ subject, ...names }, privateKey)
      const pem = await client.kubernetesCertificate(purpose, request)
      cluster.write(`${purpose}.crt`, pem)
      cluster.write(`${purpose}.key`, privateKeyPem(privateKey))
      const [certificate] = readCertificates(pem, 'the answer')
      const lifeSeconds = (certificate.notAfterMs - certificate.notBeforeMs) / 1000
      // The signer dates it back by five minutes, and counts the life from the request.
      expect(Math.abs(lifeSeconds - 30 * daySeconds)).toBeLessThan(600)
      expect(certificate.extendedKeyUsages).toEqual([purpose === 'serving' ? 'serverAuth' : 'clientAuth'])
      // Another request for another address is answered with what would be signed.
      const greedy = await createRequest(
        { subject, names: { dnsNames, ipAddresses: [...ipAddresses, '203.0.113.9'] } },
        privateKey,
      )
      await expect(client.kubernetesCertificate(purpose, greedy)).rejects.toMatchObject({ code: 'content-mismatch' })
    }
    const text = await cluster.openssl('x509 -in serving.crt -noout -ext subjectAltName -subject')
    for (const name of [
      'DNS:kubernetes.default.svc.cluster.local',
      'IP Address:127.0.0.1',
      'IP Address:169.254.30.10',
      'IP Address:10.96.0.1',
    ])
      expect(text).toContain(name)
    expect(text).toMatch(/O ?= ?system:nodes, CN ?= ?system:node:edge-2/)
    expect(await cluster.openssl(`verify -CAfile ${plane.caFile} serving.crt client.crt`)).toMatch(/OK\n.*OK\n/)
    // The certificate makes the edge its node at the API server.
    const args = ['--client-certificate', cluster.path('client.crt'), '--client-key', cluster.path('client.key')]
    const server = ['--server', plane.server, '--certificate-authority', plane.caFile]
    const who = await kubectl({ kubeconfigFile: '/dev/null' }, ['auth', 'whoami', ...args, ...server, '-o', 'json'])
    expect(JSON.parse(who)).toMatchObject({ status: { userInfo: { username: 'system:node:edge-2' } } })
    const created = await cluster.client.resource(certificateSigningRequests).list()
    for (const { metadata, spec } of created.items) expect(spec?.username, metadata?.name).toBe(HUB_USER)
  })

  it('never touch the requests of kubelets, and deny whoever imitates ours', async () => {
    const bootstrapper = await clientOf('system:bootstrap:abcdef', 'system:bootstrappers')
    const kubelet = await clientOf('system:node:edge-2', 'system:nodes')
    // May ask for certificates, as anybody who joins nodes may; nobody approves what he asks for.
    const imitator = (await clientOf('mallory')).resource(certificateSigningRequests)
    const role = '--clusterrole=system:node-bootstrapper'
    const who = ['--group=system:bootstrappers', '--user=mallory']
    await kubectl(plane, ['create', 'clusterrolebinding', 'bootstrappers', role, ...who])
    const requests = cluster.client.resource(certificateSigningRequests)
    const client = edgeClient('edge-2')
    const serving = await client.certificateContent('serving')
    const clientPem = await nodeRequest('edge-2')
    const servingPem = await nodeRequest('edge-2', serving)
    const ours = { labels: { 'causeway.io/node-certificate': 'serving' } }
    const signer = { client: 'kubernetes.io/kube-apiserver-client-kubelet', serving: 'kubernetes.io/kubelet-serving' }
    await bootstrapper.resource(certificateSigningRequests).create(csr('node-csr-abc', signer.client, clientPem))
    // The very content that the hub itself would ask for, without its marks.
    await kubelet.resource(certificateSigningRequests).create(csr('csr-abc12', signer.serving, servingPem))
    await imitator.create(csr('imitation', signer.serving, servingPem, ours))
    await imitator.create(csr('causeway-edge-client-0123', signer.client, clientPem))
    await vi.waitFor(async () => {
      for (const name of ['imitation', 'causeway-edge-client-0123'])
        expect((await requests.get(name)).status?.conditions).toMatchObject([
          { type: 'Denied', reason: expect.any(String) },
        ])
    }, patience)
    for (const name of ['node-csr-abc', 'csr-abc12']) expect((await requests.get(name)).status).toEqual({})
    expect(hub.process.log).toContainEqual(expect.objectContaining({ event: 'csr-denied', csr: 'imitation' }))
  })

  it('need no right that they do not have', () => {
    expect(hub.process.stderr).not.toMatch(/forbidden/i)
    const complaints = hub.process.log.filter(({ level }) => level === 'warn' || level === 'error')
    expect(complaints).toEqual([])
  })

  function edgeClient(dataDir: string): HubClient {
    const { cert, key } = cluster.credential(dataDir)
    const trust = readCertificates(cluster.text(`${dataDir}/ca.crt`), 'the CA')
    const pair = { certificatePem: cert, keyPem: key }
    return new HubClient({ hubs: parseHubUrls([hub.url]), clock: systemClock, trust: () => trust, pair: () => pair })
  }
}, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])

interface Names {
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
}

async function nodeRequest(node: string, names?: Names): Promise<string> {
  const { privateKey } = await generateKeys()
  const subject = userName(`system:node:${node}`, ['system:nodes'])
  const { dnsNames = [], ipAddresses = [] } = names ?? {}
  return await createRequest(
    { subject, ...(names === undefined ? {} : { names: { dnsNames, ipAddresses } }) },
    privateKey,
  )
}

function csr(name: string, signerName: string, pem: string, metadata = {}): CertificateSigningRequest {
  const auth = signerName.endsWith('serving') ? 'server auth' : 'client auth'
  const usages = ['digital signature', auth]
  return { metadata: { name, ...metadata }, spec: { request: Buffer.from(pem).toString('base64'), signerName, usages } }
}

async function fetchText(url: string): Promise<string> {
  const sent = get(url, { rejectUnauthorized: false, agent: false })
  const [response] = (await once(sent, 'response')) as [AsyncIterable<Buffer>]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
