/** The ways of deciding that `--authorization-mode` names, each one an authorizer. */
import { ALLOWED, type Authorizer, NO_RULES, noOpinion } from '../request/authorizer.ts'
import type { AuthorizationMode } from './mode-names.ts'
import { NodeAuthorizer } from './node/authorizer.ts'
import type { NodeGraph } from './node/graph.ts'
import { RbacAuthorizer } from './rbac/authorizer.ts'
import type { RbacSource } from './rbac/view.ts'

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

export function authorizerOf(mode: AuthorizationMode, policy: Policy): Authorizer {
  return makers[mode](policy)
}

/** Where everybody may do anything, a caller must at least say who it is: API servers refuse the combination. */
export function allowsAnonymous(modes: readonly AuthorizationMode[]): boolean {
  return !modes.includes('AlwaysAllow')
}
