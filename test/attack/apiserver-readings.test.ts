/** Two readings of one request, by its path, its body or its names: what only looks like a request for less does no more. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type AttackedServer, attackedServer } from './apiserver-world.ts'

const secrets = '/api/v1/namespaces/default/secrets'
const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const rbac = '/apis/rbac.authorization.k8s.io/v1'

let server: AttackedServer

beforeAll(async () => {
  server = await attackedServer(['agent', 'reader'].map((name) => `token-of-${name},${name},\n`).join(''))
  await server.create('/api/v1/namespaces', { metadata: { name: 'other' } })
  for (const name of ['one', 'two']) await server.create('/api/v1/nodes', { metadata: { name } })
})

beforeEach(async () => {
  for (const namespace of ['default', 'other']) {
    await server.ask('POST', `/api/v1/namespaces/${namespace}/secrets`, {
      body: { metadata: { name: 'kept' }, data: { a: 'Yg==' } },
    })
  }
})

afterAll(() => server.stop())

async function isKept(namespace = 'default'): Promise<boolean> {
  const { status, text } = await server.ask('GET', `/api/v1/namespaces/${namespace}/secrets/kept`)
  return status === 200 && text.includes('"a":"Yg=="')
}

describe('two readings of one request: its path', () => {
  it.each(['//api/v1/secrets', '/apis//v1/secrets', '/apis//v1/namespaces/default/secrets/kept', '/api//v1/secrets'])(
    'leads nowhere by %s',
    async (path) => {
      const { status, text } = await server.ask('GET', path)
      expect([status, text.includes('kept')]).toEqual([404, false])
    },
  )

  it('does not delete from all namespaces by leaving one out', async () => {
    expect(await server.ask('DELETE', '/api/v1/namespaces//secrets')).toMatchObject({ status: 400 })
    expect([await isKept(), await isKept('other')]).toEqual([true, true])
  })

  it.each(['..', '.', '%2e%2e', 'a%25b'])('names no object by %s', async (name) => {
    for (const method of ['GET', 'DELETE']) {
      expect(await server.ask(method, `${secrets}/${name}`)).toMatchObject({ status: 400 })
    }
  })

  it('opens a health check for reading alone', async () => {
    expect(await server.ask('GET', '/healthz', { token: 'token-of-reader' })).toMatchObject({ status: 200 })
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      expect(await server.ask(method, '/healthz', { token: 'token-of-reader' })).toMatchObject({ status: 403 })
    }
  })
})

describe('two readings of one request: its body', () => {
  it('replaces nothing with what has no name', async () => {
    expect(await server.ask('PUT', `${secrets}/kept`, { body: {} })).toMatchObject({ status: 400 })
    expect(await isKept()).toBe(true)
  })

  it.each([
    [400, { apiVersion: 'v1', kind: 'Secret' }],
    [422, { propagationPolicy: 'odd' }],
    [422, { propagationPolicy: 'Orphan', orphanDependents: true }],
    [422, { dryRun: ['all'] }],
    [409, { preconditions: { uid: 'another' } }],
  ])('deletes nothing, with %s, by %j', async (status, body) => {
    expect(await server.ask('DELETE', `${secrets}/kept`, { body })).toMatchObject({ status })
    expect(await isKept()).toBe(true)
  })

  it.each(['uid=another', 'resourceVersion=1', 'dryRun=all', 'dryRun=All', 'gracePeriodSeconds='])(
    'deletes nothing by %s',
    async (query) => {
      await server.ask('DELETE', `${secrets}/kept?${query}`)
      expect(await isKept()).toBe(true)
    },
  )

  it('takes no lease from who has seen a later version', async () => {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
    const held = await server.create(leases, { metadata: { name: 'held' }, spec: { holderIdentity: 'first' } })
    const taken = { metadata: { name: 'held' }, spec: { holderIdentity: 'second' } }
    expect(await server.ask('PUT', `${leases}/held`, { body: taken })).toMatchObject({ status: 422 })
    expect(await server.read(`${leases}/held`)).toEqual(held)
  })
})

describe('rights by impersonated names: a constrained right', () => {
  const token = 'token-of-agent'

  async function grant(name: string, rules: readonly object[]): Promise<void> {
    await server.create(`${rbac}/clusterroles`, { metadata: { name }, rules })
    await server.create(`${rbac}/clusterrolebindings`, {
      metadata: { name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'agent' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    })
  }

  function playing(
    user: string,
    more: Readonly<Record<string, string>> = {},
  ): { token: string; headers: Record<string, string> } {
    return { token, headers: { 'impersonate-user': user, ...more } }
  }

  beforeAll(async () => {
    const apiGroups = ['authentication.k8s.io']
    await grant('agent', [
      { verbs: ['impersonate:arbitrary-node'], apiGroups, resources: ['nodes'], resourceNames: ['one'] },
      { verbs: ['impersonate-on:arbitrary-node:get'], apiGroups: [''], resources: ['nodes'] },
      { verbs: ['impersonate:user-info'], apiGroups, resources: ['users', 'groups'] },
      { verbs: ['impersonate-on:user-info:create'], apiGroups, resources: ['selfsubjectreviews'] },
    ])
  })

  it('is good for that identity and that request', async () => {
    expect(await server.ask('GET', '/api/v1/nodes/one', playing('system:node:one'))).toMatchObject({ status: 200 })
    const { status, text } = await server.ask('POST', whoAmI, { ...playing('alice'), body: {} })
    expect([status, text.includes('"username":"alice"')]).toEqual([201, true])
  })

  it.each([
    ['GET', '/api/v1/nodes/two', 'system:node:two', {}],
    ['GET', '/api/v1/nodes', 'system:node:one', {}],
    ['DELETE', '/api/v1/nodes/one', 'system:node:one', {}],
    ['GET', '/api/v1/nodes/one', 'system:node:one', { 'impersonate-group': 'system:masters' }],
    ['GET', '/api/v1/nodes/one', 'system:node:one', { 'impersonate-uid': 'x' }],
    ['GET', secrets, 'alice', {}],
    ['POST', whoAmI, 'alice', { 'impersonate-group': 'system:masters' }],
    ['POST', whoAmI, 'system:serviceaccount:kube-system:default', {}],
    ['POST', whoAmI, 'system:node:one', {}],
  ])('is good for nothing else: %s %s as %s %j', async (method, target, user, more) => {
    const body = method === 'POST' ? { body: {} } : {}
    expect(await server.ask(method, target, { ...playing(user, more), ...body })).toMatchObject({ status: 403 })
  })

  it('is for names in UTF-8, whoever writes them', async () => {
    const asBytes = (name: string): string => Buffer.from(name).toString('latin1')
    const { status, text } = await server.ask('POST', whoAmI, { ...playing(asBytes('älice')), body: {} })
    expect([status, text.includes('"username":"älice"')]).toEqual([201, true])
    expect(await server.ask('POST', whoAmI, { ...playing('\u00e4lice'), body: {} })).toMatchObject({ status: 400 })
  })
})
