import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type OwnApiServer, startOwnApiServer } from '../../../test/worlds/own-api-server.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import {
  endpointSlices,
  namespaces,
  secrets,
  serviceAccounts,
  services,
  tokenReviews,
} from '../../kube/client/kinds.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isForbidden } from '../../kube/status/predicates.ts'
import { onBehalfOfEdge } from '../shared/cluster-error.ts'
import {
  KUBE_PROXY_ACCOUNT,
  KUBE_PROXY_BINDING,
  KUBE_PROXY_TOKEN_LIFE_SECONDS,
  KubeProxyAccount,
} from './kube-proxy-account.ts'

const namespace = 'causeway-system'
const user = `system:serviceaccount:${namespace}:${KUBE_PROXY_ACCOUNT}`
const group = 'rbac.authorization.k8s.io'
const bindings = {
  group,
  version: 'v1',
  kind: 'ClusterRoleBinding',
  resource: 'clusterrolebindings',
  namespaced: false,
}
const roles = { group, version: 'v1', kind: 'Role', resource: 'roles', namespaced: true }
const roleBindings = { group, version: 'v1', kind: 'RoleBinding', resource: 'rolebindings', namespaced: true }

let server: OwnApiServer
let admin: KubeClient
let lines: Record<string, unknown>[]

beforeAll(async () => {
  server = await startOwnApiServer()
  admin = server.client()
  await admin.resource(namespaces).create({ metadata: { name: namespace } })
})
afterAll(() => server.stop())

beforeEach(async () => {
  lines = []
  await admin.resource(serviceAccounts).in(namespace).deleteCollection()
  await admin.resource(bindings).deleteCollection({ labelSelector: 'causeway.io/part-of=causeway' })
})

function accountOf(client: KubeClient): KubeProxyAccount {
  const audit = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as never) })
  return new KubeProxyAccount({ client, namespace, audit })
}

describe('the account of kube-proxy', () => {
  it('is made with its binding when it is missing, by several hubs at once too', async () => {
    const issued = await Promise.all(Array.from({ length: 5 }, () => accountOf(admin).issue()))
    expect(issued).toHaveLength(5)
    expect(await admin.resource(bindings).get(KUBE_PROXY_BINDING)).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'system:node-proxier' },
      subjects: [{ kind: 'ServiceAccount', name: KUBE_PROXY_ACCOUNT, namespace }],
    })
    const created = lines.filter(({ event }) => event === 'kube-proxy-account-created')
    expect(created.length).toBeGreaterThan(0)
    for (const { token } of issued) expect(JSON.stringify(lines)).not.toContain(token)
  })

  it('has tokens of a day that are worth what a kube-proxy needs and no more', async () => {
    const { token, expires } = await accountOf(admin).issue()
    const leftMs = new Date(expires).getTime() - Date.now()
    expect(Math.abs(leftMs / 1000 - KUBE_PROXY_TOKEN_LIFE_SECONDS)).toBeLessThan(60)
    const review = await admin.resource(tokenReviews).create({ spec: { token } })
    expect(review.status).toMatchObject({ authenticated: true, user: { username: user } })
    const proxy = server.clientOf(user, ['system:serviceaccounts', 'system:authenticated'])
    expect((await proxy.resource(services).list()).items).not.toEqual([])
    await proxy.resource(endpointSlices).list()
    await expect(proxy.resource(secrets).list()).rejects.toSatisfy(isForbidden)
  })

  it('is used as it is by a hub that may make its tokens and nothing else', async () => {
    await accountOf(admin).issue()
    await allow('token-maker', [{ apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] }])
    const hub = accountOf(server.clientOf('token-maker', ['system:authenticated']))
    expect((await hub.issue()).token).toMatch(/^ey/)
  })

  it('is refused in words that name the remedy where the hub lacks a right', async () => {
    const remedy = 'kubectl apply -f deploy/hub-rbac.yaml'
    const refusal = (doing: string) => ({
      code: 'hub-lacks-rights',
      status: 503,
      message: expect.stringMatching(new RegExp(`the hub may not ${doing} .*kube-proxy: .*forbidden.*${remedy}`)),
    })
    const issueAs = (name: string): Promise<unknown> =>
      onBehalfOfEdge(() => accountOf(server.clientOf(name, ['system:authenticated'])).issue())
    await expect(issueAs('nobody')).rejects.toMatchObject(refusal('make tokens of'))
    await allow('half', [{ apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] }])
    await expect(issueAs('half')).rejects.toMatchObject(refusal('bind'))
    expect((await admin.resource(serviceAccounts).in(namespace).list()).items).toEqual([])
  })
})

async function allow(name: string, rules: readonly unknown[]): Promise<void> {
  const metadata = { name }
  await admin.resource<KubeObject>(roles).in(namespace).create({ metadata, rules })
  await admin
    .resource<KubeObject>(roleBindings)
    .in(namespace)
    .create({
      metadata,
      roleRef: { apiGroup: group, kind: 'Role', name },
      subjects: [{ apiGroup: group, kind: 'User', name }],
    })
}
