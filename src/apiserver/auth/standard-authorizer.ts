/** The authorization of an API server, in the order of its mode `Node,RBAC`. */
import type { Authorizer } from './authorizer.ts'
import { NodeAuthorizer } from './node/authorizer.ts'
import type { NodeGraph } from './node/graph.ts'
import { RbacAuthorizer } from './rbac/authorizer.ts'
import type { RbacSource } from './rbac/view.ts'
import { PathAuthorizer, PrivilegedGroupAuthorizer, UnionAuthorizer } from './union.ts'
import { MASTERS_GROUP } from './user.ts'

export interface StandardAuthorizerOptions {
  readonly graph: NodeGraph
  readonly source: RbacSource
  /** Open to everybody, whatever the policy says; see PathAuthorizer. */
  readonly alwaysAllowPaths?: readonly string[]
}

export function standardAuthorizer({ graph, source, alwaysAllowPaths = [] }: StandardAuthorizerOptions): Authorizer {
  return new UnionAuthorizer([
    // Before all else: an administrator must get in even when the policy is empty or broken.
    new PrivilegedGroupAuthorizer(MASTERS_GROUP),
    new PathAuthorizer(alwaysAllowPaths),
    // Before RBAC: kubelets ask most, and are bound to no role.
    new NodeAuthorizer(graph),
    new RbacAuthorizer(source),
  ])
}
