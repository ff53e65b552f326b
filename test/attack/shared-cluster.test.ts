/**
 * The attacks whose answer lies in the cluster's records, on two hubs as they run, before a real API server of ours: what
 * one hub has learnt the other must know.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createRequest } from '../../src/identity/csr.ts'
import { privateKeyPem } from '../../src/identity/keys.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import { certificateSigningRequests, nodes } from '../../src/kube/index.ts'
import { type ComposedHubs, startComposedHubs } from '../worlds/composed-hub.ts'
import {
  ask,
  type ClientResponse,
  type Credential,
  codeOf,
  type HubAddress,
  signingRequest,
} from '../worlds/hub-world.ts'

/** All hubs know it soon; the limit ends a hang and judges no machine. */
const knownWithin = { timeout: 30_000, interval: 20 }

let world: ComposedHubs
let one: HubAddress
let two: HubAddress

beforeAll(async () => {
  world = await startComposedHubs(2)
  const [first, second] = world.hubs
  if (first === undefined || second === undefined) throw new Error('two hubs were asked for')
  ;[one, two] = [first, second]
})
afterAll(async () => {
  await world.stop()
})

async function post(hub: HubAddress, path: string, body: string, by: Credential | string): Promise<ClientResponse> {
  const who = typeof by === 'string' ? { headers: { authorization: `Bearer ${by}` } } : { credential: by }
  return await ask(hub, { method: 'POST', path, body, ...who })
}

async function joinAs(hub: HubAddress, node: string, jwt: string): Promise<string> {
  return codeOf(await post(hub, '/edge.crt', (await signingRequest(node)).pem, jwt))
}

async function joined(hub: HubAddress, node: string, jwt?: string): Promise<Credential> {
  const { pem, keys } = await signingRequest(node)
  const answer = await post(hub, '/edge.crt', pem, jwt ?? (await world.mint()).jwt)
  expect(answer.status, answer.body).toBe(200)
  return { cert: answer.body, key: privateKeyPem(keys.privateKey) }
}

async function seen(hub: HubAddress, credential: Credential): Promise<string> {
  return codeOf(await ask(hub, { path: '/v1/node', credential }))
}

describe('a token', () => {
  it('of another cluster: refused by its key and by its audience', async () => {
    const elsewhere = await startComposedHubs(1)
    try {
      expect(await joinAs(one, 'foreign-1', (await elsewhere.mint()).jwt)).toBe('token-invalid')
    } finally {
      await elsewhere.stop()
    }
    await expect(world.claims.list()).resolves.toMatchObject({
      claims: expect.not.arrayContaining([expect.objectContaining({ node: 'foreign-1' })]),
    })
  })

  it('that was revoked: refused by all hubs from that moment', async () => {
    const { id, jwt } = await world.mint()
    expect(await joinAs(one, 'revoked-1', jwt)).toBe('ok')
    await world.tokens.revoke(id)
    for (const hub of [one, two]) expect(await joinAs(hub, 'revoked-2', jwt)).toBe('token-revoked')
  })

  it('for three, with twenty who come at once to two hubs: three get in', async () => {
    const { id, jwt } = await world.mint({ uses: 3 })
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => joinAs(index % 2 === 0 ? one : two, `crowd-${index}`, jwt)),
    )
    expect(codes.toSorted()).toEqual([
      ...Array.from({ length: 3 }, () => 'ok'),
      ...Array.from({ length: 17 }, () => 'token-used-up'),
    ])
    const { records } = await world.tokens.list()
    expect(records.find((record) => record.id === id)?.used).toHaveLength(3)
    const held = (await world.claims.list()).claims.filter(({ node }) => node.startsWith('crowd-'))
    expect(held).toHaveLength(3)
  })

  it('of another node, or for the name of a Node that did not come from us: refused', async () => {
    await world.api
      .client()
      .resource(nodes)
      .create({ metadata: { name: 'control-plane-1' } })
    expect(await joinAs(one, 'control-plane-1', (await world.mint()).jwt)).toBe('node-exists')
    expect(await joinAs(two, 'edge-8', (await world.mint({ node: 'edge-9' })).jwt)).toBe('token-for-other-node')
  })
})

describe('a race for one name on two hubs', () => {
  it('has one winner', async () => {
    const { jwt } = await world.mint()
    const codes = await Promise.all(
      Array.from({ length: 10 }, (_, index) => joinAs(index % 2 === 0 ? one : two, 'raced', jwt)),
    )
    expect(codes.toSorted()).toEqual([...Array.from({ length: 9 }, () => 'name-taken'), 'ok'])
  })
})

describe('a certificate', () => {
  it('stolen from a node that was forgotten: refused by all hubs, for use and for renewal', async () => {
    const stolen = await joined(one, 'stolen-1')
    for (const hub of [one, two]) expect(await seen(hub, stolen)).toBe('ok')
    await world.claims.forget('stolen-1')
    await vi.waitFor(async () => {
      for (const hub of [one, two]) expect(await seen(hub, stolen)).toBe('certificate-revoked')
    }, knownWithin)
    const { pem } = await signingRequest('stolen-1')
    for (const hub of [one, two]) expect(codeOf(await post(hub, '/edge.crt', pem, stolen))).toBe('certificate-revoked')
    for (const hub of [one, two])
      expect(codeOf(await ask(hub, { path: '/v1/certificates/client', credential: stolen }))).toBe(
        'certificate-revoked',
      )
  })

  it('of a forgotten node does not come back while its Node stands and nobody names it', async () => {
    await joined(one, 'forgotten-1')
    await world.api
      .client()
      .resource(nodes)
      .create({ metadata: { name: 'forgotten-1' } })
    await world.claims.forget('forgotten-1')
    expect(await joinAs(two, 'forgotten-1', (await world.mint()).jwt)).toBe('node-exists')
  })

  it('of the key before a named re-join: refused by all hubs', async () => {
    const old = await joined(one, 'rejoined-1')
    const now = await joined(two, 'rejoined-1', (await world.mint({ node: 'rejoined-1' })).jwt)
    await vi.waitFor(async () => {
      for (const hub of [one, two]) expect(await seen(hub, old)).toBe('certificate-revoked')
    }, knownWithin)
    for (const hub of [one, two]) expect(await seen(hub, now)).toBe('ok')
    expect(await joinAs(one, 'rejoined-1', (await world.mint({ node: 'rejoined-*' })).jwt)).toBe('name-taken')
  })

  it('of node A renews into node B: refused, and B stays as it was', async () => {
    const a = await joined(one, 'swap-a')
    const b = await joined(one, 'swap-b')
    expect(codeOf(await post(two, '/edge.crt', (await signingRequest('swap-b')).pem, a))).toBe('node-mismatch')
    for (const hub of [one, two]) expect(await seen(hub, b)).toBe('ok')
  })

  it('renewed on one hub and used on the other: the key before counts for nothing on either', async () => {
    const old = await joined(one, 'renewed-1')
    const { pem, keys } = await signingRequest('renewed-1')
    const answer = await post(two, '/edge.crt', pem, old)
    const now = { cert: answer.body, key: privateKeyPem(keys.privateKey) }
    expect(await seen(one, old)).toBe('ok')
    expect(await seen(one, now)).toBe('ok')
    await vi.waitFor(async () => {
      for (const hub of [one, two]) expect(await seen(hub, old)).toBe('certificate-revoked')
    }, knownWithin)
  })
})

describe("a signing request at the cluster's signers", () => {
  it('that imitates ours: denied; without our marks: left alone; for a foreign address: refused', async () => {
    const admin = world.api.client()
    const requests = admin.resource(certificateSigningRequests)
    // May ask for certificates, as anybody who joins nodes may; nobody approves what she asks for.
    const group = 'rbac.authorization.k8s.io'
    const bindings = { group, version: 'v1', resource: 'clusterrolebindings', kind: 'ClusterRoleBinding' } as const
    await admin.resource({ ...bindings, namespaced: false }).create({
      metadata: { name: 'mallory' },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
      subjects: [{ apiGroup: group, kind: 'User', name: 'mallory' }],
    })
    const mallory = world.api.clientOf('mallory', ['system:authenticated']).resource(certificateSigningRequests)
    const { pem } = await signingRequest('edge-1')
    const spec = {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    }
    const labels = { 'causeway.io/node-certificate': 'client' }
    // What was bound counts a moment later.
    await vi.waitFor(() => mallory.create({ metadata: { name: 'node-csr-1' }, spec }), knownWithin)
    await mallory.create({ metadata: { name: 'csr-imitated', labels }, spec })
    await vi.waitFor(async () => {
      const { status } = await requests.get('csr-imitated')
      expect(status?.conditions).toMatchObject([{ type: 'Denied' }])
      expect(status?.certificate).toBeUndefined()
    }, knownWithin)
    expect((await requests.get('node-csr-1')).status?.conditions ?? []).toEqual([])
    const credential = await joined(one, 'serving-1')
    const { keys } = await signingRequest('serving-1')
    const names = { ipAddresses: ['127.0.0.1', '203.0.113.1'] }
    const greedy = await createRequest({ subject: nodeSubject('serving-1'), names }, keys.privateKey)
    expect(codeOf(await post(two, '/v1/certificates/serving', greedy, credential))).toBe('content-mismatch')
  })
})
