import { describe, expect, it } from 'vitest'
import { createRequest, readRequest } from '../../identity/csr.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { generateKeys } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import type { CertificateSigningRequest } from '../../kube/client/types.ts'
import { CSR_LABEL, csrObject } from './csr-object.ts'
import { judge } from './judge.ts'
import { type CertificateContent, clientContent, servingContent } from './template.ts'

const hub = 'system:serviceaccount:causeway-system:causeway-hub'
const facts = { endpointAddresses: ['127.0.0.1', '::1'], clusterIps: ['10.96.0.1'], clusterDomain: 'cluster.local' }
const keys = await generateKeys()

const options = {
  ownUser: hub,
  contentFor: async (node: string, purpose: string): Promise<CertificateContent> =>
    purpose === 'client' ? clientContent(node, 3600) : servingContent(node, 3600, facts),
}

async function ours(content: CertificateContent, username = hub): Promise<CertificateSigningRequest> {
  const { node, dnsNames, ipAddresses } = content
  const pem = await createRequest({ subject: nodeSubject(node), names: { dnsNames, ipAddresses } }, keys.privateKey)
  const made = csrObject(content, await readRequest(pem))
  return { ...made, spec: { ...made.spec, username } }
}

const serving = servingContent('edge-1', 3600, facts)

describe('judge', () => {
  it.each([serving, clientContent('edge-1', 3600)])('approves what this hub would have made', async (content) => {
    const judgement = await judge(await ours(content), options)
    expect(judgement).toEqual({ do: 'approve', node: 'edge-1', purpose: content.purpose })
  })

  it('denies an imitation, however exact', async () => {
    const judgement = await judge(await ours(serving, 'mallory'), options)
    expect(judgement).toMatchObject({ do: 'deny', reason: 'CausewayImitation' })
    expect(judgement).toHaveProperty('message', expect.stringContaining('created by mallory'))
  })

  it('denies what wears only the name, or only the label', async () => {
    const exact = await ours(serving, 'mallory')
    const labels = { [CSR_LABEL]: 'serving' }
    for (const metadata of [{ name: exact.metadata?.name ?? '' }, { name: 'anything', labels }])
      expect(await judge({ ...exact, metadata }, options)).toMatchObject({ do: 'deny' })
  })

  it('never touches a request without our marks, though a hub made it', async () => {
    const exact = await ours(serving)
    expect(await judge({ ...exact, metadata: { name: 'csr-x2b4j' } }, options)).toEqual({
      do: 'leave',
      why: 'not ours',
    })
  })

  it('leaves an imitation for a signer on which a hub has no say', async () => {
    const exact = await ours(serving, 'mallory')
    for (const signerName of ['example.com/mine', 'kubernetes.io/kube-apiserver-client'])
      expect(await judge({ ...exact, spec: { ...exact.spec, signerName } }, options)).toHaveProperty('do', 'leave')
  })

  it.each(['Approved', 'Denied', 'Failed'])('does not decide again what is %s', async (type) => {
    const decided = { ...(await ours(serving, 'mallory')), status: { conditions: [{ type, status: 'True' }] } }
    expect(await judge(decided, options)).toEqual({ do: 'leave', why: 'decided' })
  })

  it.each<[string, Partial<CertificateSigningRequest['spec']>]>([
    ['another signer', { signerName: 'kubernetes.io/kube-apiserver-client' }],
    ['other usages', { usages: ['digital signature', 'client auth'] }],
    ['another life', { expirationSeconds: 7200 }],
    ['no request at all', { request: Buffer.from('nonsense').toString('base64') }],
  ])('does not approve a request with %s, even by its own user', async (_what, changed) => {
    const exact = await ours(serving)
    expect(await judge({ ...exact, spec: { ...exact.spec, ...changed } }, options)).toHaveProperty('do', 'leave')
  })

  it('does not approve other content, even by its own user', async () => {
    const more = { ...serving, ipAddresses: [...serving.ipAddresses, '203.0.113.7'] }
    expect(await judge(await ours(more), options)).toEqual({
      do: 'leave',
      why: expect.stringContaining('asks for the address 203.0.113.7, which this hub does not list'),
    })
  })

  it('does not approve another subject under the marks of a node', async () => {
    const pem = await createRequest({ subject: userName('system:admin', ['system:masters']) }, keys.privateKey)
    const made = csrObject(clientContent('edge-1', 3600), await readRequest(pem))
    const csr = { ...made, spec: { ...made.spec, username: hub } }
    expect(await judge(csr, options)).toEqual({ do: 'leave', why: expect.stringContaining('CN=system:admin') })
  })
})
