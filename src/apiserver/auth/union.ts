/** Several authorizers as one: asked in order, the first that allows or denies decides. */
import {
  ALLOWED,
  type Attributes,
  type Authorizer,
  type Decision,
  NO_OPINION,
  NO_RULES,
  noOpinion,
  type RuleListing,
} from '../request/authorizer.ts'
import type { UserInfo } from '../request/user.ts'

/** When nobody decides, the reasons of all are the reason, one a line. */
export class UnionAuthorizer implements Authorizer {
  readonly #authorizers: readonly Authorizer[]

  constructor(authorizers: readonly Authorizer[]) {
    this.#authorizers = authorizers
  }

  authorize(attributes: Attributes): Decision {
    const reasons: string[] = []
    for (const authorizer of this.#authorizers) {
      const decision = authorizer.authorize(attributes)
      if (decision.verdict !== 'no-opinion') return decision
      if (decision.reason !== '') reasons.push(decision.reason)
    }
    return noOpinion(reasons.join('\n'))
  }

  rulesFor(user: UserInfo, namespace: string): RuleListing {
    const listings = this.#authorizers.map((authorizer) => authorizer.rulesFor(user, namespace))
    return {
      rules: listings.flatMap(({ rules }) => rules),
      incomplete: listings.some(({ incomplete }) => incomplete),
      errors: listings.flatMap(({ errors }) => errors),
    }
  }
}

/** Members of the group may do anything, even when no role could be read: the way in to a broken policy. */
export class PrivilegedGroupAuthorizer implements Authorizer {
  readonly #group: string

  constructor(group: string) {
    this.#group = group
  }

  authorize({ user }: Attributes): Decision {
    return user.groups.includes(this.#group) ? ALLOWED : NO_OPINION
  }

  /** None: a privileged group has a binding of its own, from which its rules are listed. */
  rulesFor(): RuleListing {
    return NO_RULES
  }
}

/** Lets everybody read some paths, health checks for instance; a path may end in `*`, its leading slash may be missing. */
export class PathAuthorizer implements Authorizer {
  readonly #paths: ReadonlySet<string>
  readonly #prefixes: readonly string[]

  constructor(alwaysAllowed: readonly string[]) {
    const paths = alwaysAllowed.map(withoutSlash)
    const misplaced = paths.find((path) => path.slice(0, -1).includes('*'))
    if (misplaced !== undefined) throw new Error(`only trailing * allowed in ${JSON.stringify(misplaced)}`)
    this.#paths = new Set(paths.filter((path) => !path.endsWith('*')))
    this.#prefixes = paths.filter((path) => path.endsWith('*')).map((path) => path.slice(0, -1))
  }

  authorize(attributes: Attributes): Decision {
    if (attributes.kind === 'resource' || attributes.verb !== 'get') return NO_OPINION
    const path = withoutSlash(attributes.path)
    const allowed = this.#paths.has(path) || this.#prefixes.some((prefix) => path.startsWith(prefix))
    return allowed ? ALLOWED : NO_OPINION
  }

  rulesFor(): RuleListing {
    return NO_RULES
  }
}

function withoutSlash(path: string): string {
  return path.startsWith('/') ? path.slice(1) : path
}
