/**
 * What a pod tries with the token of its ServiceAccount, `team/app`, which may make roles, bindings and pods in its namespace and
 * read one Secret. One list for two suites, as for nodes.
 */
import { type Attack, MERGE, TEAM } from './node-attack.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const inTeam = `${rbac}/namespaces/team`
const version = 'rbac.authorization.k8s.io'

interface Rule {
  readonly verbs: readonly string[]
  readonly resources: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resourceNames?: readonly string[]
}

function rule(verbs: string, resources: string, more: Partial<Rule> = {}): Rule {
  return { verbs: verbs.split(' '), resources: resources.split(' '), apiGroups: [''], ...more }
}

const own: readonly Rule[] = [
  rule('get list watch create', 'pods'),
  rule('get list watch patch', 'configmaps'),
  rule('get list watch', 'secrets', { resourceNames: ['mine'] }),
  rule('create', 'serviceaccounts/token', { resourceNames: ['app'] }),
  rule('get create update patch', 'roles rolebindings', { apiGroups: [version] }),
]

const subject = { kind: 'ServiceAccount', namespace: 'team', name: 'app' }

function roleRef(kind: string, name: string): object {
  return { apiGroup: version, kind, name }
}

/** In the order in which they can be made. */
export const ACCOUNT_WORLD: readonly (readonly [path: string, object: object])[] = [
  ['/api/v1/namespaces', { metadata: { name: 'team' } }],
  ...['app', 'other', 'default'].map((name) => [`${TEAM}/serviceaccounts`, { metadata: { name } }] as const),
  ...['mine', 'theirs'].map((name) => [`${TEAM}/secrets`, { metadata: { name } }] as const),
  [`${TEAM}/configmaps`, { metadata: { name: 'shared' } }],
  [`${inTeam}/roles`, { metadata: { name: 'own' }, rules: own }],
  [`${inTeam}/roles`, { metadata: { name: 'narrow' }, rules: [rule('get', 'pods')] }],
  [`${inTeam}/roles`, { metadata: { name: 'wide' }, rules: [rule('*', '*')] }],
  [`${inTeam}/rolebindings`, { metadata: { name: 'own' }, subjects: [subject], roleRef: roleRef('Role', 'own') }],
]

export const ACCOUNT_TOKEN_PATH = `${TEAM}/serviceaccounts/app/token`

function create(what: string, target: string, body: object, isAllowed = false): Attack {
  return { what, method: 'POST', target: `${target}?dryRun=All`, body, isAllowed }
}

function patch(what: string, target: string, body: object, isAllowed = false, type = MERGE): Attack {
  return { what, method: 'PATCH', target: `${target}?dryRun=All`, body, type, isAllowed }
}

function role(what: string, rules: readonly Rule[], isAllowed = false): Attack {
  return create(`makes a role ${what}`, `${inTeam}/roles`, { metadata: { name: 'new' }, rules }, isAllowed)
}

function binding(what: string, kind: string, name: string, more: object = {}, isAllowed = false): Attack {
  const body = { metadata: { name: 'new' }, subjects: [subject], roleRef: roleRef(kind, name), ...more }
  return create(`makes a binding ${what}`, `${inTeam}/rolebindings`, body, isAllowed)
}

function read(target: string, isAllowed = false): Attack {
  return { what: `reads ${target}`, method: 'GET', target, isAllowed }
}

function plays(name: string, groups: readonly string[] = []): Attack {
  const headers = [['impersonate-user', name] as const, ...groups.map((group) => ['impersonate-group', group] as const)]
  return { what: `plays ${name} of [${groups.join()}]`, method: 'GET', target: `${TEAM}/secrets/theirs`, headers }
}

const review = { spec: { user: 'admin', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'team' } } }
const selfReview = { spec: { resourceAttributes: { verb: 'get', resource: 'secrets', namespace: 'team' } } }
const subresourceNames = [
  'exec?command=ls',
  'attach',
  'portforward',
  'log',
  'proxy/',
  'eviction',
  'binding',
  'ephemeralcontainers',
]

export const ACCOUNT_ATTACKS: readonly Attack[] = [
  role('of what it may do', [rule('get list', 'pods')], true),
  role('that reads all secrets', [rule('get', 'secrets')]),
  role('that reads one more secret', [rule('get', 'secrets', { resourceNames: ['mine', 'theirs'] })]),
  role('that reads its secret', [rule('get', 'secrets', { resourceNames: ['mine'] })], true),
  role('that may do anything', [rule('*', '*', { apiGroups: ['*'] })]),
  role('that may do anything with pods', [rule('*', 'pods')]),
  role('that deletes pods', [rule('delete', 'pods')]),
  role('for subresources of pods', [rule('create', 'pods/exec')]),
  role('that escalates', [rule('escalate bind', 'roles', { apiGroups: [version] })]),
  role('that impersonates', [rule('impersonate', 'users groups serviceaccounts')]),
  role('that impersonates in part', [rule('impersonate:user-info', 'users', { apiGroups: ['authentication.k8s.io'] })]),
  role('in the core group of another spelling', [rule('get', 'pods', { apiGroups: ['*'] })]),
  patch('adds rights to its role', `${inTeam}/roles/own`, { rules: [...own, rule('get', 'secrets')] }),
  patch(
    'adds rights to its role, one by one',
    `${inTeam}/roles/own`,
    [{ op: 'add', path: '/rules/-', value: rule('get', 'secrets') }],
    false,
    'application/json-patch+json',
  ),
  patch('takes rights from its role', `${inTeam}/roles/own`, { rules: own.slice(1) }, true),
  patch('labels a role beyond its rights', `${inTeam}/roles/wide`, { metadata: { labels: { a: 'b' } } }),
  patch('narrows a role beyond its rights', `${inTeam}/roles/wide`, { rules: [rule('get', 'pods')] }, true),
  binding('to a role of what it may do', 'Role', 'narrow', {}, true),
  binding('to a role beyond its rights', 'Role', 'wide'),
  binding('to the administrator', 'ClusterRole', 'cluster-admin'),
  binding('to a role that is not there', 'Role', 'gone'),
  binding(
    'for everybody',
    'Role',
    'narrow',
    { subjects: [{ kind: 'Group', apiGroup: version, name: 'system:unauthenticated' }] },
    true,
  ),
  patch('leads its binding to another role', `${inTeam}/rolebindings/own`, { roleRef: roleRef('Role', 'wide') }),
  patch('leads its binding to a narrower role', `${inTeam}/rolebindings/own`, { roleRef: roleRef('Role', 'narrow') }),
  patch(
    'adds itself under another name to its binding',
    `${inTeam}/rolebindings/own`,
    { subjects: [subject, { ...subject, name: 'other' }] },
    true,
  ),
  create('makes a role of the cluster', `${rbac}/clusterroles`, {
    metadata: { name: 'new' },
    rules: [rule('get', 'pods')],
  }),
  create('makes a binding of the cluster', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'new' },
    subjects: [subject],
    roleRef: roleRef('ClusterRole', 'view'),
  }),
  create('makes a role elsewhere', `${rbac}/namespaces/kube-system/roles`, {
    metadata: { name: 'new' },
    rules: [rule('get', 'pods')],
  }),
  create('makes a role in a namespace by the body', `${inTeam}/roles`, {
    metadata: { name: 'new', namespace: 'kube-system' },
    rules: [],
  }),
  plays('admin', ['system:masters']),
  plays('system:serviceaccount:team:app'),
  plays('system:serviceaccount:team:other'),
  plays('system:node:edge-1', ['system:nodes']),
  plays('system:anonymous'),
  create(
    'makes a pod under another account',
    `${TEAM}/pods`,
    { metadata: { name: 'new' }, spec: { serviceAccountName: 'other', containers: [{ name: 'c', image: 'i' }] } },
    true,
  ),
  create('makes a pod under an account that is not there', `${TEAM}/pods`, {
    metadata: { name: 'new' },
    spec: { serviceAccountName: 'gone', containers: [{ name: 'c', image: 'i' }] },
  }),
  create(
    'makes a mirror pod',
    `${TEAM}/pods`,
    {
      metadata: { name: 'new', annotations: { 'kubernetes.io/config.mirror': 'x' } },
      spec: { nodeName: 'edge-1', containers: [{ name: 'c', image: 'i' }] },
    },
    true,
  ),
  read(`${TEAM}/secrets/mine`, true),
  read(`${TEAM}/secrets/theirs`),
  read(`${TEAM}/secrets`),
  read(`${TEAM}/secrets?fieldSelector=metadata.name%3Dmine`, true),
  read(`${TEAM}/secrets?fieldSelector=metadata.name%3Dtheirs`),
  read(`${TEAM}/secrets?fieldSelector=metadata.name%3Dmine;&fieldSelector=metadata.name%3Dtheirs`),
  read(`${TEAM}/secrets?fieldSelector=metadata.name!%3Dx%zz&fieldSelector=metadata.name%3Dmine`, true),
  read('/api/v1/watch/namespaces/team/secrets/theirs?timeoutSeconds=1'),
  read('/api/v1/watch/namespaces/team/secrets?timeoutSeconds=1'),
  read('/api/v1/secrets?fieldSelector=metadata.name%3Dmine'),
  read('/api/v1/namespaces/kube-system/secrets/mine'),
  read('/api/v1/namespaces//secrets'),
  { what: 'deletes all secrets', method: 'DELETE', target: `${TEAM}/secrets` },
  create('makes a secret with a token', `${TEAM}/secrets`, {
    metadata: { name: 'new', annotations: { 'kubernetes.io/service-account.name': 'other' } },
    type: 'kubernetes.io/service-account-token',
  }),
  ...subresourceNames.map((subresource) => read(`${TEAM}/pods/any/${subresource}`)),
  read('/api/v1/nodes/edge-1/proxy/pods'),
  create('reviews a token', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'x' } }),
  create('reviews the rights of others', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review),
  create(
    'reviews the rights of others here',
    '/apis/authorization.k8s.io/v1/namespaces/team/localsubjectaccessreviews',
    review,
  ),
  create('reviews its rights', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', selfReview, true),
  create(
    'lists its rights',
    '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    { spec: { namespace: 'team' } },
    true,
  ),
  create('asks for a token of another account', `${TEAM}/serviceaccounts/other/token`, { spec: {} }),
  create('asks for a token elsewhere', '/api/v1/namespaces/kube-system/serviceaccounts/app/token', { spec: {} }),
  create('asks for a token that lasts forever', ACCOUNT_TOKEN_PATH, { spec: { expirationSeconds: 2 ** 33 } }),
  create('asks for a token that lasts no time', ACCOUNT_TOKEN_PATH, { spec: { expirationSeconds: 599 } }),
  create('asks for a token that is bound to a pod that is not there', ACCOUNT_TOKEN_PATH, {
    spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'gone', uid: 'x' } },
  }),
  create(
    'asks for a token of others',
    ACCOUNT_TOKEN_PATH,
    { spec: { audiences: ['https://elsewhere.example'] } },
    true,
  ),
  patch('adds a secret to its account', `${TEAM}/serviceaccounts/app`, { secrets: [{ name: 'theirs' }] }),
  patch('makes its namespace privileged', TEAM, {
    metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
  }),
  patch('changes a config map that it may', `${TEAM}/configmaps/shared`, { data: { a: 'b' } }, true),
  {
    what: 'makes a config map by an update',
    method: 'PUT',
    target: `${TEAM}/configmaps/new`,
    body: { metadata: { name: 'new' } },
  },
]
