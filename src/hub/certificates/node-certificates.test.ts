import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type OwnApiServer, startOwnApiServer } from '../../../test/worlds/own-api-server.ts'
import { readCertificates } from '../../identity/certificate.ts'
import { type CertificateRequest, createRequest, REQUEST_LABEL, readRequest } from '../../identity/csr.ts'
import { generateKeys, keyMatchesCertificate } from '../../identity/keys.ts'
import { nodeOfSubject, nodeSubject } from '../../identity/node-name.ts'
import { writePem } from '../../identity/pem.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { certificateSigningRequests } from '../../kube/client/kinds.ts'
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { CertificateSigningRequest } from '../../kube/client/types.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import type { CertificatePurpose } from '../../protocol/requests.ts'
import { systemClock } from '../../runtime/clock.ts'
import { CsrKeeper } from './csr-keeper.ts'
import { CSR_LABEL } from './csr-object.ts'
import { CertificateMetrics } from './metrics.ts'
import { contentFor, NodeCertificates } from './node-certificates.ts'

let server: OwnApiServer
let client: KubeClient
let mallory: ResourceClient<CertificateSigningRequest>
let certificates: NodeCertificates
let keeper: CsrKeeper
let running: RunningPart | undefined
const ownUser = 'kubernetes-admin'
const never = new AbortController().signal

beforeAll(async () => {
  server = await startOwnApiServer([])
  client = server.client()
  mallory = server.clientOf('mallory', ['system:masters']).resource(certificateSigningRequests)
})
afterAll(() => server.stop())

beforeEach(async () => {
  const metrics = new CertificateMetrics(new Registry())
  const endpointAddressesOf = (): string[] => ['127.0.0.1', '::1', '169.254.30.10']
  const content = { client, lifeSeconds: 3600, clusterDomain: 'cluster.local', endpointAddressesOf }
  const common = { client, clock: systemClock, audit: pino({ level: 'silent' }), metrics, ownUser: await userOf() }
  keeper = new CsrKeeper({
    ...common,
    logger: pino({ level: 'silent' }),
    contentFor: (node, purpose) => contentFor(content, node, purpose),
  })
  certificates = new NodeCertificates({ ...content, ...common, keeper })
})

afterEach(async () => {
  await running?.stop(AbortSignal.abort())
  running = undefined
})

async function userOf(): Promise<string> {
  const probe = await client.resource(certificateSigningRequests).create(
    {
      metadata: { generateName: 'probe-' },
      spec: {
        request: pemOf(await request('serving')),
        signerName: 'example.com/nobody',
        usages: ['server auth'],
      },
    },
    { dryRun: 'All' },
  )
  return probe.spec.username ?? ownUser
}

async function request(purpose: CertificatePurpose, extra: readonly string[] = []): Promise<CertificateRequest> {
  const { privateKey } = await generateKeys()
  const { dnsNames, ipAddresses } = await contentOf(purpose)
  const names = { dnsNames, ipAddresses: [...ipAddresses, ...extra] }
  return await readRequest(await createRequest({ subject: nodeSubject('edge-1'), names }, privateKey))
}

function pemOf({ der }: CertificateRequest): string {
  return Buffer.from(writePem(REQUEST_LABEL, der)).toString('base64')
}

async function contentOf(
  purpose: CertificatePurpose,
): Promise<{ dnsNames: readonly string[]; ipAddresses: readonly string[] }> {
  return certificates === undefined ? { dnsNames: [], ipAddresses: [] } : await certificates.content('edge-1', purpose)
}

async function startKeeper(): Promise<void> {
  running = await keeper.start()
}

describe('NodeCertificates', () => {
  it.each<CertificatePurpose>(['serving', 'client'])('has the cluster sign a %s certificate', async (purpose) => {
    await startKeeper()
    const pem = await certificates.request('edge-1', purpose, await request(purpose), never)
    const [certificate] = readCertificates(pem ?? '', 'the answer')
    expect(nodeOfSubject(certificate.subject)).toBe('edge-1')
    expect(certificate.extendedKeyUsages).toEqual([purpose === 'serving' ? 'serverAuth' : 'clientAuth'])
    const expected = purpose === 'serving' ? ['10.96.0.1', '127.0.0.1', '169.254.30.10', '::1'] : []
    expect(certificate.names.ipAddresses.toSorted()).toEqual(expected.toSorted())
    expect(certificate.notAfterMs - Date.now()).toBeLessThanOrEqual(3600_000)
  })

  it('goes on with the same request when asked again, on another hub too', async () => {
    const csr = await request('serving')
    const gone = AbortSignal.abort()
    expect(await certificates.request('edge-1', 'serving', csr, gone)).toBeUndefined()
    await startKeeper()
    const [first, second] = await Promise.all([
      certificates.request('edge-1', 'serving', csr, never),
      certificates.request('edge-1', 'serving', csr, never),
    ])
    expect(first).toBeDefined()
    expect(second).toBe(first)
  })

  it('refuses a request for the API server’s public address, and creates nothing', async () => {
    const before = await client.resource(certificateSigningRequests).list()
    const asked = certificates.request('edge-1', 'serving', await request('serving', ['203.0.113.7']), never)
    await expect(asked).rejects.toMatchObject({ code: 'content-mismatch', details: { expected: expect.anything() } })
    const after = await client.resource(certificateSigningRequests).list()
    expect(after.items).toHaveLength(before.items.length)
  })

  it('refuses the request of one node in the name of another', async () => {
    const asked = certificates.request('edge-2', 'client', await request('client'), never)
    await expect(asked).rejects.toMatchObject({ code: 'content-mismatch' })
  })

  it('denies imitations by others and leaves the requests of kubelets alone', async () => {
    await startKeeper()
    // The signer whose requests nobody else approves: those of kubelets' own clients have an approver in the cluster.
    const spec = async (): Promise<CertificateSigningRequest['spec']> => ({
      request: pemOf(await request('serving')),
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    })
    await mallory.create({ metadata: { name: 'csr-of-a-kubelet' }, spec: await spec() })
    await mallory.create({ metadata: { name: 'causeway-edge-serving-1' }, spec: await spec() })
    await mallory.create({ metadata: { name: 'labelled', labels: { [CSR_LABEL]: 'serving' } }, spec: await spec() })
    for (const name of ['causeway-edge-serving-1', 'labelled']) {
      const settled = await keeper.settled(await mallory.get(name), never)
      expect(settled.status?.conditions).toMatchObject([{ type: 'Denied', reason: 'CausewayImitation' }])
    }
    expect((await mallory.get('csr-of-a-kubelet')).status).toEqual({})
  })

  it('does not hand out a certificate for a request that somebody put in our place', async () => {
    const csr = await request('serving')
    await certificates.request('edge-1', 'serving', csr, AbortSignal.abort())
    const csrs = client.resource(certificateSigningRequests)
    const { items } = await csrs.list({ labelSelector: CSR_LABEL })
    const own = items.find(({ status }) => status?.conditions === undefined)
    if (own === undefined) throw new Error('the request was not created')
    const name = own.metadata?.name ?? ''
    await csrs.delete(name)
    await mallory.create({ metadata: { name }, spec: own.spec })
    const asked = certificates.request('edge-1', 'serving', csr, never)
    await expect(asked).rejects.toMatchObject({
      code: 'not-issued',
      message: expect.stringContaining('mallory created'),
    })
  })

  it('the key in the certificate is the one that asked', async () => {
    await startKeeper()
    const { privateKey } = await generateKeys()
    const csr = await createRequest({ subject: nodeSubject('edge-1') }, privateKey)
    const pem = await certificates.request('edge-1', 'client', await readRequest(csr), never)
    expect(keyMatchesCertificate(privateKey, readCertificates(pem ?? '', 'it')[0])).toBe(true)
  })
})
