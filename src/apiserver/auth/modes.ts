/** The ways of deciding that `--authorization-mode` names, each one an authorizer, and what an API server makes of them. */
import { ALLOWED, type Authorizer, NO_RULES, noOpinion } from '../request/authorizer.ts'
import { MASTERS_GROUP } from '../request/user.ts'
import { type AuthorizationMode, DEFAULT_AUTHORIZATION_MODES } from './mode-names.ts'
import { NodeAuthorizer } from './node/authorizer.ts'
import type { NodeGraph } from './node/graph.ts'
import { RbacAuthorizer } from './rbac/authorizer.ts'
import type { RbacSource } from './rbac/view.ts'
import { PathAuthorizer, PrivilegedGroupAuthorizer, UnionAuthorizer } from './union.ts'

export interface Policy {
  readonly graph: NodeGraph
  readonly source: RbacSource
}

const everything = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

const makers: Readonly<Record<AuthorizationMode, (policy: Policy) => Authorizer>> = {
  Node: ({ graph }) => new NodeAuthorizer(graph),
  RBAC: ({ source }) => new RbacAuthorizer(source),
  AlwaysAllow: () => ({ authorize: () => ALLOWED, rulesFor: () => ({ ...NO_RULES, rules: everything }) }),
  // No refusal: modes that come after it may still allow. So it is in every API server.
  AlwaysDeny: () => ({ authorize: () => noOpinion('Everything is forbidden.'), rulesFor: () => NO_RULES }),
}

export interface StandardAuthorizerOptions extends Policy {
  readonly modes?: readonly AuthorizationMode[]
  /** Open to everybody, whatever the policy says; see PathAuthorizer. */
  readonly alwaysAllowPaths?: readonly string[]
}

/** The authorization of an API server: its modes in the given order, behind what is always open. */
export function standardAuthorizer(options: StandardAuthorizerOptions): Authorizer {
  const { modes = DEFAULT_AUTHORIZATION_MODES, alwaysAllowPaths = [] } = options
  return new UnionAuthorizer([
    // Before all else: an administrator must get in even when the policy is empty or broken.
    new PrivilegedGroupAuthorizer(MASTERS_GROUP),
    new PathAuthorizer(alwaysAllowPaths),
    ...modes.map((mode) => makers[mode](options)),
  ])
}

/** Where everybody may do anything, a caller must at least say who it is: API servers refuse the combination. */
export function allowsAnonymous(modes: readonly AuthorizationMode[]): boolean {
  return !modes.includes('AlwaysAllow')
}
