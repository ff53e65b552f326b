/** The shorthand in which the default policy is written down: lists are words in a string, the core group is `core`. */
import type { PolicyRule } from '../../request/authorizer.ts'

export const AUTO_UPDATE_ANNOTATION = 'rbac.authorization.kubernetes.io/autoupdate'

export const READ = 'get list watch'
export const FOLLOW = 'list watch'
export const WRITE = 'create update patch delete deletecollection'
export const READ_WRITE = `${READ} ${WRITE}`
export const READ_UPDATE = 'get list watch update patch'

/** Rules by the name of their role. */
export type RuleTable = Readonly<Record<string, readonly PolicyRule[]>>

export function rule(verbs: string, groups: string, resources: string, names = ''): PolicyRule {
  return {
    verbs: words(verbs),
    apiGroups: words(groups)
      .map((group) => (group === 'core' ? '' : group))
      .toSorted(),
    resources: words(resources),
    ...(names === '' ? {} : { resourceNames: words(names) }),
  }
}

export function paths(verbs: string, patterns: string): PolicyRule {
  return { verbs: words(verbs), nonResourceURLs: words(patterns) }
}

/** Sorted, as the API server stores its own. */
function words(text: string): string[] {
  return text.split(' ').toSorted()
}

/** Everybody who acts on objects writes events about it. */
export const RECORD_EVENTS = rule('create update patch', 'core events.k8s.io', 'events')
