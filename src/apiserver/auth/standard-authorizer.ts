/** The authorization of an API server: its modes in the given order, behind what is always open. */
import type { Authorizer } from '../request/authorizer.ts'
import { MASTERS_GROUP } from '../request/user.ts'
import { type AuthorizationMode, DEFAULT_AUTHORIZATION_MODES } from './mode-names.ts'
import { authorizerOf, type Policy } from './modes.ts'
import { PathAuthorizer, PrivilegedGroupAuthorizer, UnionAuthorizer } from './union.ts'

export interface StandardAuthorizerOptions extends Policy {
  readonly modes?: readonly AuthorizationMode[]
  /** Open to everybody, whatever the policy says; see PathAuthorizer. */
  readonly alwaysAllowPaths?: readonly string[]
}

export function standardAuthorizer(options: StandardAuthorizerOptions): Authorizer {
  const { modes = DEFAULT_AUTHORIZATION_MODES, alwaysAllowPaths = [] } = options
  return new UnionAuthorizer([
    // Before all else: an administrator must get in even when the policy is empty or broken.
    new PrivilegedGroupAuthorizer(MASTERS_GROUP),
    new PathAuthorizer(alwaysAllowPaths),
    ...modes.map((mode) => authorizerOf(mode, options)),
  ])
}
