/**
 * The ways in which a policy lets somebody play somebody else. The old right, `impersonate`, is good for any request. The
 * constrained ones, `impersonate:MODE`, allow one sort of identity each, and only for requests for which the caller also has
 * `impersonate-on:MODE:VERB`: an agent may read pods as its node, and do nothing else as that node.
 */
import { NODES_GROUP } from '../../identity/node-name.ts'
import { NODE_NAME_EXTRA, serviceAccountGroups } from '../../identity/service-account/user.ts'
import { serviceAccountOf } from '../auth/tokens/service-account-user.ts'
import { dnsSubdomain } from '../kinds/names.ts'
import { MASTERS_GROUP, type UserInfo } from '../request/user.ts'

/** What of an identity is asked of the policy, as if it were an object. */
export interface Part {
  readonly apiGroup: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name: string
}

export interface Mode {
  /** The verb that a caller must be allowed on each part of the identity. */
  readonly verb: string
  /** The groups that the identity brings along when the caller names none. */
  groupsOf(wanted: UserInfo): readonly string[]
}

export interface ConstrainedMode extends Mode {
  readonly name: string
  /** The parts of the identity on which `verb` must be allowed; undefined where this mode is not for that identity. */
  partsOf(wanted: UserInfo, caller: UserInfo): readonly Part[] | undefined
}

const constrainedGroup = 'authentication.k8s.io'

/** The modes in the order in which they are tried: the narrowest first. */
export const CONSTRAINED_MODES: readonly ConstrainedMode[] = [
  nodeMode('associated-node', (node, caller) => (isAtNode(caller, node) ? '*' : undefined)),
  nodeMode('arbitrary-node', (node) => node),
  {
    name: 'serviceaccount',
    verb: 'impersonate:serviceaccount',
    partsOf: (wanted) => {
      const account = isNameAlone(wanted) ? serviceAccountOf(wanted.name) : undefined
      return account && [{ apiGroup: constrainedGroup, resource: 'serviceaccounts', ...account }]
    },
    groupsOf: accountGroups,
  },
  {
    name: 'user-info',
    verb: 'impersonate:user-info',
    partsOf: (wanted) => {
      const isOther = nodeOf(wanted.name) === undefined && serviceAccountOf(wanted.name) === undefined
      if (!isOther || !hasOrdinaryGroups(wanted) || !hasOrdinaryExtra(wanted)) return undefined
      return [
        { apiGroup: constrainedGroup, resource: 'users', name: wanted.name },
        ...furtherParts(wanted, constrainedGroup),
      ]
    },
    groupsOf: () => [],
  },
]

export const OLD_RIGHT: Mode = { verb: 'impersonate', groupsOf: accountGroups }

export function partsOfOldRight(wanted: UserInfo): readonly Part[] {
  const account = serviceAccountOf(wanted.name)
  const who: Part =
    account === undefined
      ? { apiGroup: '', resource: 'users', name: wanted.name }
      : { apiGroup: '', resource: 'serviceaccounts', ...account }
  return [who, ...furtherParts(wanted, '')]
}

function furtherParts({ uid, groups, extra }: UserInfo, groupOfGroups: string): Part[] {
  const values = Object.entries(extra).flatMap(([key, list]) => list.map((value) => [key, value] as const))
  return [
    ...groups.map((name) => ({ apiGroup: groupOfGroups, resource: 'groups', name })),
    ...values.map(([key, name]) => ({ apiGroup: constrainedGroup, resource: 'userextras', subresource: key, name })),
    ...(uid === '' ? [] : [{ apiGroup: constrainedGroup, resource: 'uids', name: uid }]),
  ]
}

/** Nodes are played by their name alone; all else about them is the server's to say. */
function nodeMode(name: string, askedName: (node: string, caller: UserInfo) => string | undefined): ConstrainedMode {
  return {
    name,
    verb: `impersonate:${name}`,
    partsOf: (wanted, caller) => {
      const node = isNameAlone(wanted) ? nodeOf(wanted.name) : undefined
      const asked = node && askedName(node, caller)
      return asked === undefined || asked === ''
        ? undefined
        : [{ apiGroup: constrainedGroup, resource: 'nodes', name: asked }]
    },
    groupsOf: () => [NODES_GROUP],
  }
}

const nodePrefix = 'system:node:'

function nodeOf(userName: string): string | undefined {
  const node = userName.startsWith(nodePrefix) ? userName.slice(nodePrefix.length) : ''
  return node !== '' && dnsSubdomain(node).length === 0 ? node : undefined
}

/** A ServiceAccount whose token says on which node its pod runs. */
function isAtNode({ name, extra }: UserInfo, node: string): boolean {
  const nodes = extra[NODE_NAME_EXTRA] ?? []
  return serviceAccountOf(name) !== undefined && nodes.length === 1 && nodes[0] === node
}

function isNameAlone({ uid, groups, extra }: UserInfo): boolean {
  return uid === '' && groups.length === 0 && Object.keys(extra).length === 0
}

function accountGroups({ name }: UserInfo): readonly string[] {
  const account = serviceAccountOf(name)
  return account === undefined ? [] : serviceAccountGroups(account.namespace)
}

/** Nobody becomes an administrator by a constrained right. */
function hasOrdinaryGroups({ groups }: UserInfo): boolean {
  return !groups.includes('') && !groups.includes(MASTERS_GROUP)
}

const extraPath = /^[a-z0-9/\-._~%!$&'()*+,;=:]+$/

/** Keys are domains with a path, in lower case; values are not empty. */
function hasOrdinaryExtra({ extra }: UserInfo): boolean {
  return Object.entries(extra).every(([key, values]) => {
    const slash = key.indexOf('/')
    const isPlaced = slash > 0 && dnsSubdomain(key.slice(0, slash)).length === 0 && extraPath.test(key.slice(slash + 1))
    return isPlaced && !values.includes('')
  })
}
