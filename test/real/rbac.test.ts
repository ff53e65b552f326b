/**
 * Authorization against a real kube-apiserver: the default policy object by object, and several hundred questions about
 * users, groups, ServiceAccounts and nodes, which must be answered alike, word for word.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { standardAuthorizer } from '../../src/apiserver/auth/modes.ts'
import { NodeGraph } from '../../src/apiserver/auth/node/graph.ts'
import { GRAPH_RESOURCES } from '../../src/apiserver/auth/node/resources.ts'
import { staleAggregations } from '../../src/apiserver/auth/rbac/aggregation.ts'
import { RbacAuthorizer } from '../../src/apiserver/auth/rbac/authorizer.ts'
import { defaultPolicy } from '../../src/apiserver/auth/rbac/bootstrap-policy.ts'
import { EscalationCheck } from '../../src/apiserver/auth/rbac/escalation.ts'
import type { Binding, ClusterRole, RbacResource } from '../../src/apiserver/auth/rbac/objects.ts'
import { RBAC_RESOURCES } from '../../src/apiserver/auth/rbac/objects.ts'
import { reconcile } from '../../src/apiserver/auth/rbac/reconcile.ts'
import { RbacView } from '../../src/apiserver/auth/rbac/view.ts'
import {
  reviewLocalSubjectAccess,
  reviewSelfSubjectAccess,
  reviewSelfSubjectRules,
  reviewSubjectAccess,
} from '../../src/apiserver/auth/review.ts'
import type { AccessReview, ReviewedSubject } from '../../src/apiserver/auth/review-objects.ts'
import { MASTERS_GROUP, type UserInfo } from '../../src/apiserver/request/user.ts'
import { KubeClient } from '../../src/kube/client/client.ts'
import type { HeaderList } from '../../src/kube/client/credentials.ts'
import { loadKubeconfig } from '../../src/kube/client/kubeconfig.ts'
import type { KubeList, KubeObject } from '../../src/kube/objects.ts'
import { ApiError } from '../../src/kube/status/status.ts'
import { finished } from '../../src/runtime/steps.ts'
import { Daemon } from './control-plane.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'
import { NODE_OBJECTS, NODE_QUESTIONS, POLICY, QUESTIONS, question, SUBJECTS } from './rbac-fixtures.ts'

const rbacRoot = '/apis/rbac.authorization.k8s.io/v1'
const reviewRoot = '/apis/authorization.k8s.io/v1'
const graphPaths = {
  pods: '/api/v1/pods',
  persistentvolumes: '/api/v1/persistentvolumes',
  volumeattachments: '/apis/storage.k8s.io/v1/volumeattachments',
  resourceslices: '/apis/resource.k8s.io/v1/resourceslices',
} as const
/** How long the real server may take to see what was just written. */
const settleMs = 60_000

describeReal('authorization', () => {
  let plane: ControlPlane
  let client: KubeClient
  /** As the server had them before anybody wrote. */
  let fresh: Map<RbacResource, KubeObject[]>
  const view = new RbacView()
  const graph = new NodeGraph()
  const authorizer = standardAuthorizer({ graph, source: view })

  const list = async (path: string): Promise<KubeObject[]> =>
    (await client.exchange<KubeList & KubeObject>({ method: 'GET', path })).items

  const post = async (path: string, object: KubeObject, headers: HeaderList = []): Promise<KubeObject> =>
    await client.exchange({ method: 'POST', path, headers }, object)

  beforeAll(async () => {
    plane = await startControlPlane()
    client = new KubeClient(await loadKubeconfig({ file: plane.kubeconfigFile }), { maxConnections: 8 })
    fresh = new Map()
    for (const resource of RBAC_RESOURCES) fresh.set(resource, await list(`${rbacRoot}/${resource}`))
    for (const { path, object } of [...POLICY, ...NODE_OBJECTS]) await post(path, object)
    for (const resource of RBAC_RESOURCES) {
      for (const object of await list(`${rbacRoot}/${resource}`)) view.put(resource, object)
    }
    for (const resource of GRAPH_RESOURCES) {
      for (const object of await list(graphPaths[resource])) graph.put(resource, object)
    }
  })

  afterAll(async () => {
    await client?.close()
    await plane?.stop()
  })

  describe('the default policy', () => {
    it.each(RBAC_RESOURCES)('has the same %s', (resource) => {
      const ours = defaultPolicy().filter((entry) => entry.resource === resource)
      const theirs = fresh.get(resource) ?? []
      expect(theirs.length).toBeGreaterThan(5)
      expect(byName(ours.map(({ object }) => object))).toEqual(byName(theirs))
    })

    it('finds nothing to do in what the real server wrote', () => {
      const find = (resource: RbacResource, namespace: string, name: string): KubeObject | undefined =>
        fresh.get(resource)?.find(({ metadata }) => metadata?.name === name && (metadata.namespace ?? '') === namespace)
      expect(reconcile(defaultPolicy(), find)).toEqual([])
    })
  })

  /** The status that both give to the same review; waits for the real server to see all objects. */
  async function compare(spec: ReviewedSubject): Promise<void> {
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    const ours = statusOf(reviewSubjectAccess(review, authorizer))
    const acceptable = allowingReasons(spec)
    await vi.waitFor(
      async () => {
        const theirs = statusOf(await post(`${reviewRoot}/subjectaccessreviews`, review))
        // The real server asks bindings in no particular order: any that allows may be named.
        const reason = acceptable.has(String(theirs['reason'])) ? ours['reason'] : theirs['reason']
        expect({ ...theirs, ...(reason === undefined ? {} : { reason }) }, JSON.stringify(spec)).toEqual(ours)
      },
      { timeout: settleMs, interval: 50 },
    )
  }

  /** What would be said if each binding were the only one. */
  function allowingReasons(spec: ReviewedSubject): Set<string> {
    const subject = userOf(spec)
    const namespace = spec.resourceAttributes?.namespace ?? ''
    const alone = (bindings: Binding[], roleBindings: Binding[]): string => {
      const source = {
        clusterRole: view.clusterRole.bind(view),
        role: view.role.bind(view),
        clusterRoleBindingsOf: () => bindings,
        roleBindingsOf: () => roleBindings,
      }
      const { status } = reviewSubjectAccess({ spec }, new RbacAuthorizer(source))
      return (status as { allowed: boolean; reason?: string }).allowed
        ? String((status as { reason?: string }).reason)
        : ''
    }
    const reasons = [
      ...[...view.clusterRoleBindingsOf(subject)].map((binding) => alone([binding], [])),
      ...[...view.roleBindingsOf(subject, namespace)].map((binding) => alone([], [binding])),
    ]
    return new Set(reasons.filter((reason) => reason !== ''))
  }

  describe('SubjectAccessReviews', () => {
    it('asks enough', () => {
      expect(SUBJECTS.length * QUESTIONS.length).toBeGreaterThan(300)
      expect(new Set(NODE_QUESTIONS).size).toBeGreaterThan(100)
    })

    it.each(SUBJECTS.map((subject) => [subject.user ?? 'only groups', subject] as const))(
      'of %s',
      async (_, subject) => {
        await Promise.all(QUESTIONS.map((text) => compare({ ...subject, ...question(text) })))
      },
    )

    it.each(['n1', 'n2', 'n3', ''])('of node %j', async (node) => {
      const subject = { user: `system:node:${node}`, groups: ['system:nodes'] }
      await Promise.all(NODE_QUESTIONS.map((text) => compare({ ...subject, ...question(text) })))
    })

    it('of a node by name only', async () => {
      await Promise.all(
        NODE_QUESTIONS.slice(0, 10).map((text) => compare({ user: 'system:node:n1', ...question(text) })),
      )
    })

    it.each(['pods', 'resourceslices.resource.k8s.io'])('of a node, with selectors on %s', async (resource) => {
      const [name = '', ...group] = resource.split('.')
      const selectors = [
        { rawSelector: 'spec.nodeName=n1' },
        { rawSelector: 'spec.nodeName==n1,metadata.name=x' },
        { rawSelector: 'spec.nodeName=n2' },
        { rawSelector: 'spec.nodeName!=n1' },
        { rawSelector: 'spec.nodeName=n1,broken' },
        { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }] },
        { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1', 'n2'] }] },
        { requirements: [{ key: 'spec.nodeName', operator: 'NotIn', values: ['n1'] }] },
        {
          requirements: [
            { key: 'spec.nodeName', operator: 'In', values: ['n1'] },
            { key: 'x', operator: 'Exists' },
          ],
        },
        { requirements: [{ key: 'spec.nodeName', operator: 'New', values: ['n1'] }] },
      ]
      for (const fieldSelector of selectors) {
        for (const verb of ['list', 'watch', 'deletecollection', 'get']) {
          const resourceAttributes = { verb, resource: name, group: group.join('.'), fieldSelector }
          await compare({ user: 'system:node:n1', groups: ['system:nodes'], resourceAttributes })
        }
      }
    })

    it('of label selectors that cannot be read', async () => {
      const base = { verb: 'list', resource: 'pods', namespace: 'team' }
      const requirements = [
        { key: 'a', operator: 'New', values: ['b'] },
        { key: 'a', operator: 'In', values: ['b'] },
      ]
      for (const labelSelector of [{ rawSelector: 'a in' }, { rawSelector: 'a=b' }, { requirements }]) {
        await compare({ user: 'dave', resourceAttributes: { ...base, labelSelector } })
      }
    })
  })

  describe('reviews that are refused', () => {
    const selector = {
      requirements: [
        { key: 'a b', operator: 'In' },
        { key: 'a', operator: 'Exists', values: ['b'] },
      ],
    }
    const specs: ReviewedSubject[] = [
      {},
      { user: 'a' },
      { groups: ['a'], resourceAttributes: {}, nonResourceAttributes: { path: '/<x>' } },
      { resourceAttributes: {} },
      { user: 'a', resourceAttributes: { fieldSelector: {}, labelSelector: {} } },
      { user: 'a', resourceAttributes: { fieldSelector: { rawSelector: 'a=b', ...selector } } },
      { user: 'a', resourceAttributes: { fieldSelector: { requirements: [{ key: '', operator: 'NotIn' }] } } },
      { user: 'a', resourceAttributes: { labelSelector: { rawSelector: 'a=b', ...selector } } },
      { user: 'a', resourceAttributes: { namespace: 'elsewhere' } },
      { user: 'a', nonResourceAttributes: { path: '/x', verb: 'get' } },
    ]
    const root: UserInfo = { name: 'admin', uid: '', groups: [MASTERS_GROUP], extra: {} }
    const kinds: readonly [string, string, (review: AccessReview) => KubeObject][] = [
      ['SubjectAccessReview', 'subjectaccessreviews', (review) => reviewSubjectAccess(review, authorizer)],
      [
        'SelfSubjectAccessReview',
        'selfsubjectaccessreviews',
        (review) => reviewSelfSubjectAccess(review, root, authorizer),
      ],
      [
        'LocalSubjectAccessReview',
        'namespaces/team/localsubjectaccessreviews',
        (review) => reviewLocalSubjectAccess(review, 'team', authorizer),
      ],
      [
        'SelfSubjectRulesReview',
        'selfsubjectrulesreviews',
        (review) => reviewSelfSubjectRules(review as KubeObject, root, authorizer),
      ],
    ]

    it.each(kinds)('%s', async (kind, path, evaluate) => {
      let refused = 0
      for (const spec of specs) {
        const review = { apiVersion: 'authorization.k8s.io/v1', kind, spec }
        const theirs = await outcome(() => post(`${reviewRoot}/${path}`, review))
        const ours = await outcome(() => evaluate(review))
        expect(ours, JSON.stringify(spec)).toEqual(theirs)
        if ('code' in ours) refused++
      }
      expect(refused).toBeGreaterThan(5)
    })
  })

  it.each(['alice', 'dave', 'system:node:n1'])('lists the rules of %s', async (name) => {
    const groups = name.startsWith('system:node:')
      ? ['system:nodes', 'system:authenticated']
      : ['devs', 'system:authenticated']
    const headers: HeaderList = [
      ['impersonate-user', name],
      ...groups.map((group) => ['impersonate-group', group] as [string, string]),
    ]
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: 'team' },
    }
    const ours = reviewSelfSubjectRules(review, { name, uid: '', groups, extra: {} }, authorizer)
    await vi.waitFor(
      async () =>
        expect(sortedRules(await post(`${reviewRoot}/selfsubjectrulesreviews`, review, headers))).toEqual(
          sortedRules(ours),
        ),
      { timeout: settleMs, interval: 50 },
    )
  })

  describe('escalation', () => {
    const rule = (verbs: string, resources: string, more: object = {}): object => ({
      verbs: verbs.split(' '),
      apiGroups: [''],
      resources: resources.split(' '),
      ...more,
    })
    const role = (rules: readonly object[], more: object = {}): KubeObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'wanted' },
      rules,
      ...more,
    })
    const binding = (kind: string, name: string): KubeObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'wanted' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [],
    })
    const inTeam = (object: KubeObject, kind: string): KubeObject => ({
      ...object,
      kind,
      metadata: { ...object.metadata, namespace: 'team' },
    })
    const attempts: readonly [string, RbacResource, KubeObject][] = [
      ['eve', 'clusterroles', role([rule('get list', 'pods')])],
      ['eve', 'clusterroles', role([rule('get list delete', 'pods services'), rule('get', 'pods/log')])],
      ['eve', 'clusterroles', role([rule('get delete', 'secrets', { resourceNames: ['shared', 'other'] })])],
      ['eve', 'clusterroles', role([rule('get', 'secrets')])],
      ['eve', 'clusterroles', role([{ verbs: ['get', 'post'], nonResourceURLs: ['/custom/a', '/custom/*', '/x'] }])],
      ['eve', 'clusterroles', role([rule('*', '*', { apiGroups: ['*'] })])],
      ['eve', 'clusterroles', role([], { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } })],
      ['eve', 'clusterrolebindings', binding('ClusterRole', 'scaler')],
      ['eve', 'clusterrolebindings', binding('ClusterRole', 'does-not-exist')],
      ['eve', 'rolebindings', inTeam(binding('Role', 'reader'), 'RoleBinding')],
      ['eve', 'rolebindings', inTeam(binding('Role', 'gone'), 'RoleBinding')],
      ['eve', 'roles', inTeam(role([rule('create', 'pods')]), 'Role')],
      ['henry', 'clusterroles', role([rule('create', 'pods')])],
      ['frank', 'clusterrolebindings', binding('ClusterRole', 'scaler')],
      ['frank', 'rolebindings', inTeam(binding('ClusterRole', 'scaler'), 'RoleBinding')],
      ['frank', 'clusterrolebindings', binding('ClusterRole', 'paths')],
      ['frank', 'roles', inTeam(role([rule('*', '*')]), 'Role')],
      ['gina', 'roles', inTeam(role([rule('*', '*', { apiGroups: ['*'] })]), 'Role')],
      ['gina', 'rolebindings', inTeam(binding('ClusterRole', 'cluster-admin'), 'RoleBinding')],
    ]

    it.each(attempts.map((attempt, index) => [`${index}: ${attempt[0]} creates ${attempt[1]}`, attempt] as const))(
      '%s',
      async (_, [name, resource, object]) => {
        const user = { name, uid: '', groups: ['system:authenticated'], extra: {} }
        const namespace = object.metadata?.namespace ?? ''
        const check = new EscalationCheck(view, authorizer)
        const ours = await outcome(() => {
          finished(check.checkSteps({ user, resource, namespace, name: '', object }))
          return {}
        })
        const path = `${rbacRoot}/${namespace === '' ? '' : `namespaces/${namespace}/`}${resource}?dryRun=All`
        await vi.waitFor(
          async () => {
            const theirs = await outcome(() => post(path, object, [['impersonate-user', name]]))
            expect(ours).toEqual(theirs)
          },
          { timeout: settleMs, interval: 50 },
        )
      },
    )
  })

  it('aggregates as the real controller does', async () => {
    const flags = ['--controllers=clusterrole-aggregation-controller', '--leader-elect=false', '--secure-port=0']
    const args = [`--kubeconfig=${plane.kubeconfigFile}`, ...flags]
    const manager = await Daemon.start('kube-controller-manager', plane.directory, args)
    try {
      const expected = staleAggregations(fresh.get('clusterroles') as ClusterRole[])
      expect(new Set(expected.map(({ metadata }) => metadata?.name))).toEqual(new Set(['admin', 'edit', 'view']))
      await vi.waitFor(
        async () => {
          const roles = (await list(`${rbacRoot}/clusterroles`)) as ClusterRole[]
          for (const { metadata, rules } of expected) {
            expect(roles.find((role) => role.metadata?.name === metadata?.name)?.rules).toEqual(rules)
          }
        },
        { timeout: 120_000, interval: 200 },
      )
    } finally {
      await manager.kill()
    }
  })
}, ['etcd', 'kube-apiserver', 'kube-controller-manager'])

function userOf({ user = '', groups = [] }: ReviewedSubject): UserInfo {
  return { name: user, uid: '', groups, extra: {} }
}

function statusOf({ status }: KubeObject): Record<string, unknown> {
  return status as Record<string, unknown>
}

/** The policy that an object states, without what a server adds. */
function byName(objects: readonly KubeObject[]): Record<string, unknown> {
  return Object.fromEntries(
    objects.map(({ metadata, rules, aggregationRule, subjects, roleRef }) => [
      `${metadata?.namespace ?? ''}/${metadata?.name}`,
      {
        labels: metadata?.labels,
        annotations: metadata?.annotations,
        rules: rules ?? [],
        subjects: subjects ?? [],
        aggregationRule,
        roleRef,
      },
    ]),
  )
}

/** An error with all its details, or what a success decided. */
async function outcome(attempt: () => KubeObject | Promise<KubeObject>): Promise<object> {
  try {
    const { status } = await attempt()
    return { allowed: (status as { allowed?: boolean } | undefined)?.allowed }
  } catch (error) {
    if (error instanceof ApiError) return error.status
    throw error
  }
}

function sortedRules({ status }: KubeObject): object {
  const { resourceRules, nonResourceRules, ...rest } = status as { resourceRules: object[]; nonResourceRules: object[] }
  const sorted = (rules: readonly object[]): string[] => rules.map((rule) => JSON.stringify(rule)).toSorted()
  return { ...rest, resourceRules: sorted(resourceRules), nonResourceRules: sorted(nonResourceRules) }
}
