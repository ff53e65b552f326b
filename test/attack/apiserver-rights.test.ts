import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AttackedServer, attackedServer } from './apiserver-world.ts'

const secrets = '/api/v1/namespaces/default/secrets'
const everything = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

let server: AttackedServer

async function bind(user: string, rules: readonly object[]): Promise<void> {
  const roles = '/apis/rbac.authorization.k8s.io/v1'
  const name = user.replaceAll(':', '.')
  await server.create(`${roles}/clusterroles`, { metadata: { name }, rules })
  await server.create(`${roles}/clusterrolebindings`, {
    metadata: { name },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  })
}

function rule(verbs: readonly string[], resources: readonly string[], more: object = {}): object {
  return { verbs, resources, apiGroups: [''], ...more }
}

/** A pod on that node, without a word about anything else. */
function pod(name: string, nodeName: string): object {
  return { metadata: { name }, spec: { nodeName, containers: [{ name: 'c', image: 'i' }] } }
}

beforeAll(async () => {
  server = await attackedServer()
  await server.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  for (const name of ['allowed', 'other', 'a']) await server.create(secrets, { metadata: { name } })
  for (const [name, node] of [
    ['mine', 'edge-1'],
    ['theirs', 'edge-2'],
  ] as const) {
    await server.create('/api/v1/nodes', { metadata: { name: node } })
    await server.create('/api/v1/namespaces/default/pods', pod(name, node))
  }
  await bind('one-secret', [rule(['get', 'list', 'watch'], ['secrets'], { resourceNames: ['allowed'] })])
})

afterAll(() => server.stop())

/** The names of the objects that an answer shows, in a list or in events. */
function shown(text: string): string[] {
  return [...text.matchAll(/"metadata":\{"name":"([^"]+)"/g)].map(([, name]) => name ?? '')
}

describe('two readings of one request: a role for one name', () => {
  it.each([
    'fieldSelector=metadata.name%3Dallowed',
    'fieldSelector=metadata.name!%3Da;b&fieldSelector=metadata.name%3Dallowed',
    'fieldSelector=metadata.name!%3Da%zz&fieldSelector=metadata.name%3Dallowed',
    'fieldSelector;=x&fieldSelector=metadata.name%3Dallowed',
    'fieldSelector=metadata.name%3Dallowed&fieldSelector=metadata.name!%3Dallowed',
    'fieldSelector=metadata.name%3Dallowed&field%53elector=metadata.name!%3Da',
  ])('shows that one alone: %s', async (query) => {
    const list = await server.ask('GET', `${secrets}?${query}`, { as: 'one-secret' })
    expect([list.status, shown(list.text)]).toEqual([200, ['allowed']])
    const watch = await server.ask('GET', `${secrets}?watch=1&${query}&${everything}`, { as: 'one-secret' })
    expect([watch.status, shown(watch.text)]).toEqual([200, ['allowed']])
  })

  it.each([
    '',
    'fieldSelector=metadata.name!%3Da',
    'fieldSelector=metadata.name%3Dother',
    'fieldSelector=metadata.name%3Dallowed&limit=x',
    'fieldSelector=metadata.name%3Dother&fieldSelector=metadata.name%3Dallowed',
    'fieldSelector=metadata.name%3Dallowed;',
    '?fieldSelector=metadata.name%3Dallowed',
  ])('shows nothing: %s', async (query) => {
    const { status, text } = await server.ask('GET', `${secrets}?${query}`, { as: 'one-secret' })
    expect([status, shown(text)]).toEqual([403, []])
  })

  it.each(['namespaces/default/secrets/allowed', 'namespaces/default/secrets/allowed/'])(
    'shows that one alone by the old path of watches: %s',
    async (path) => {
      const target = `/api/v1/watch/${path}?${everything}`
      const { status, text } = await server.ask('GET', target, { as: 'one-secret' })
      expect([status, shown(text)]).toEqual([200, ['allowed']])
    },
  )

  it('does not let the old path of watches name one object and select another', async () => {
    const target = `/api/v1/watch/namespaces/default/secrets/allowed?fieldSelector=metadata.name%3Dother&${everything}`
    expect(await server.ask('GET', target, { as: 'one-secret' })).toMatchObject({ status: 400 })
  })

  it.each(['namespaces/default/secrets', 'secrets', 'namespaces/default/secrets//allowed'])(
    'shows nothing by the old path of watches: %s',
    async (path) => {
      const { status, text } = await server.ask('GET', `/api/v1/watch/${path}?${everything}`, { as: 'one-secret' })
      expect([status >= 400, shown(text)]).toEqual([true, []])
    },
  )
})

describe('two readings of one request: the certificate of a node', () => {
  const asNode = { as: 'system:node:edge-1', groups: ['system:nodes'] }

  it('shows the pods of that node', async () => {
    const { status, text } = await server.ask('GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dedge-1', asNode)
    expect([status, shown(text)]).toEqual([200, ['mine']])
  })

  it.each([
    'fieldSelector=metadata.name!%3Dx;&fieldSelector=spec.nodeName%3Dedge-1',
    'fieldSelector=metadata.name!%3Dx%zz&fieldSelector=spec.nodeName%3Dedge-1',
    'fieldSelector=spec.nodeName%3Dedge-1&fieldSelector=metadata.name!%3Dx',
  ])('shows no others: %s', async (query) => {
    const { text } = await server.ask('GET', `/api/v1/pods?${query}`, asNode)
    expect(shown(text)).not.toContain('theirs')
  })

  it.each(['fieldSelector=spec.nodeName!%3Dedge-1', 'fieldSelector=spec.nodeName%3Dedge-2', ''])(
    'shows nothing: %s',
    async (query) => {
      expect(await server.ask('GET', `/api/v1/pods?${query}`, asNode)).toMatchObject({ status: 403 })
    },
  )
})

describe('create by update: who may update and not create', () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
  const lease = (name: string): object => ({ metadata: { name }, spec: { holderIdentity: 'me' } })

  it('creates nothing by an update', async () => {
    await bind('updater', [rule(['update'], ['leases', 'services'], { apiGroups: ['', 'coordination.k8s.io'] })])
    const refused = await server.ask('PUT', `${leases}/new`, { as: 'updater', body: lease('new') })
    expect(refused).toMatchObject({ status: 403 })
    expect(refused.text).toContain('cannot create resource')
    expect(await server.ask('GET', `${leases}/new`)).toMatchObject({ status: 404 })
    const known = await server.create(leases, lease('known'))
    expect(await server.ask('PUT', `${leases}/known`, { as: 'updater', body: known })).toMatchObject({ status: 200 })
    expect(await server.ask('PUT', `${leases}/new`, { body: lease('new') })).toMatchObject({ status: 201 })
  })
})

describe('rights by impersonated names: impersonation', () => {
  const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

  /** By somebody who may play any user, and no account and no group. */
  async function playing(name: string): Promise<{ status: number; groups: readonly string[] }> {
    const { status, text } = await server.ask('POST', whoAmI, { as: name, body: {} })
    const { userInfo } = (JSON.parse(text) as { status: { userInfo?: { groups?: string[] } } }).status
    return { status, groups: userInfo?.groups ?? [] }
  }

  it.each([
    'system:serviceaccount:kube-system',
    'system:serviceaccount:kube-system:',
    'system:serviceaccount::default',
    'system:serviceaccount:kube-system:default:more',
    'system:serviceaccount:Kube-System:default',
    'system:serviceaccount:kube-system:Default',
    'system:serviceaccount:kube.system:default',
    `system:serviceaccount:kube-system:${'a'.repeat(254)}`,
  ])('of %s brings no group of accounts', async (name) => {
    expect(await playing(name)).toEqual({ status: 201, groups: ['system:authenticated'] })
  })

  it('of an account brings its groups', async () => {
    const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated']
    expect(await playing('system:serviceaccount:kube-system:default')).toEqual({ status: 201, groups })
  })
})
