/** Identities that a caller asks for, in all spellings that somebody could take for another one. */
import type { Asked } from './twins.ts'

type Headers = readonly (readonly [string, string])[]

const names = [
  'alice',
  'Alice',
  'bob',
  '',
  ' ',
  ' alice',
  'alice ',
  'system:anonymous',
  'system:unauthenticated',
  'system:node:edge-1',
  'system:node:edge-2',
  'system:node:',
  'system:kube-scheduler',
  'system:serviceaccount',
  'system:serviceaccount:',
  'system:serviceaccount::',
  'system:serviceaccount:one',
  'system:serviceaccount:one:',
  'system:serviceaccount::default',
  'system:serviceaccount:one:default',
  'system:serviceaccount:one:other',
  'system:serviceaccount:two:default',
  'system:serviceaccount:gone:default',
  'system:serviceaccount:one:default:more',
  'system:serviceaccount:one:default:',
  'system:serviceaccount:ONE:default',
  'system:serviceaccount:one:Default',
  'system:serviceaccount:o.ne:default',
  'system:serviceaccount:one:de.fault',
  'system:serviceaccount:one:-default',
  'system:serviceaccount:one:default ',
  'System:serviceaccount:one:default',
  'system:serviceaccounts:one:default',
  `system:serviceaccount:one:${'a'.repeat(253)}`,
  `system:serviceaccount:one:${'a'.repeat(254)}`,
  `system:serviceaccount:${'a'.repeat(64)}:default`,
  'admin',
  'alice,bob',
  // The bytes of a name in UTF-8, and in an older encoding.
  Buffer.from('al\u00efce').toString('latin1'),
  'al\u00efce',
]

const groupSets: readonly (readonly string[])[] = [
  ['developers'],
  ['system:masters'],
  ['system:authenticated'],
  ['system:unauthenticated'],
  ['system:serviceaccounts'],
  ['system:nodes'],
  ['developers', 'developers'],
  ['developers', 'system:masters'],
  [''],
  ['developers,system:masters'],
]

const extras: readonly Headers[] = [
  [['impersonate-extra-scopes', 'view']],
  [['impersonate-extra-scopes', 'edit']],
  [['impersonate-extra-Scopes', 'view']],
  [['impersonate-extra-scope%73', 'view']],
  [
    ['impersonate-extra-scopes', 'view'],
    ['impersonate-extra-scope%73', 'edit'],
  ],
  [
    ['impersonate-extra-scope%73', 'edit'],
    ['impersonate-extra-scopes', 'view'],
  ],
  [
    ['impersonate-extra-scopes', 'view'],
    ['impersonate-extra-scopes', 'view'],
  ],
  [
    ['impersonate-extra-scopes', 'view'],
    ['Impersonate-Extra-SCOPES', 'edit'],
  ],
  [['impersonate-extra-%', 'view']],
  [['impersonate-extra-%zz', 'view']],
  [['impersonate-extra-', 'view']],
  [['impersonate-extra-scopes', '']],
  [['impersonate-extra-scopes%2Fmore', 'view']],
  [['impersonate-extra-other', 'view']],
  [['impersonate-extra-%53copes', 'view']],
  [['impersonate-extra-__proto__', 'view']],
  [['impersonate-extra-scopes%20', 'view']],
]

const uids: readonly Headers[] = [
  [['impersonate-uid', 'u-1']],
  [['impersonate-uid', 'u-2']],
  [['impersonate-uid', '']],
  [
    ['impersonate-uid', 'u-1'],
    ['impersonate-uid', 'u-2'],
  ],
  [
    ['impersonate-uid', 'u-2'],
    ['impersonate-uid', 'u-1'],
  ],
]

const users = (name: string): Headers => [['impersonate-user', name]]
const groupsOf = (names: readonly string[]): Headers => names.map((name) => ['impersonate-group', name] as const)

const wanted: readonly Headers[] = [
  ...names.map(users),
  ...groupSets.flatMap((groups) =>
    ['alice', 'system:anonymous', 'system:serviceaccount:one:default', 'system:node:edge-1'].map((name) => [
      ...users(name),
      ...groupsOf(groups),
    ]),
  ),
  ...groupSets.map(groupsOf),
  ...[...extras, ...uids].flatMap((more) => [[...users('alice'), ...more], [...users(''), ...more], more]),
  [...users('alice'), ...users('bob')],
  [...users('bob'), ...users('alice')],
  [...users(''), ...users('alice')],
  [...users('alice'), ['x-remote-user', 'admin'], ['x-remote-group', 'system:masters']],
  [
    ['x-remote-user', 'admin'],
    ['x-remote-group', 'system:masters'],
  ],
  [['impersonate-unknown', 'x']],
  [...users('alice'), ['impersonate-unknown', 'x']],
]

/** Who they are then, and what they may do then. */
export const IMPERSONATIONS: readonly Asked[] = wanted.flatMap((headers) =>
  ['admin', 'any-user', 'impersonator', 'nobody', undefined].flatMap((by): Asked[] => [
    { method: 'POST', target: '/apis/authentication.k8s.io/v1/selfsubjectreviews', by, headers, body: {} },
    { method: 'GET', target: '/api/v1/namespaces/one/secrets/other', by, headers },
  ]),
)
