/** The sentence that refuses an escalation, with the missing permissions gathered and sorted as the API server does. */
import { goQuote } from '../../../kube/status/go-text.ts'
import { joinErrors, type PolicyRule } from '../authorizer.ts'
import type { UserInfo } from '../user.ts'
import { RBAC_GROUP, type RoleRef } from './objects.ts'

export function escalationText(user: UserInfo, missing: readonly PolicyRule[], unresolved: readonly RoleRef[]): string {
  const who = `user ${goQuote(user.name)} (groups=${goQuoteList(user.groups)})`
  const lines = [...new Set(gatherVerbs(missing).map(describeRule))].toSorted()
  const errors = unresolved.map(({ kind, name }) => `${kind.toLowerCase()}s.${RBAC_GROUP} ${goQuote(name)} not found`)
  const suffix = errors.length === 0 ? '' : `; resolution errors: [${joinErrors(errors)}]`
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${suffix}`
}

/** Permissions on the same resource and name become one rule with all their verbs; those on paths stay alone. */
function gatherVerbs(permissions: readonly PolicyRule[]): PolicyRule[] {
  const gathered = new Map<string, PolicyRule>()
  for (const permission of permissions) {
    const { verbs, ...object } = permission
    const key = JSON.stringify(permission.nonResourceURLs === undefined ? object : permission)
    const same = gathered.get(key)
    gathered.set(key, same === undefined ? permission : { ...same, verbs: [...same.verbs, ...verbs] })
  }
  return [...gathered.values()]
}

function describeRule(rule: PolicyRule): string {
  const parts: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ]
  const present = parts.filter(([, values]) => values !== undefined && values.length > 0)
  return `{${present.map(([name, values = []]) => `${name}:${goQuoteList(values)}`).join(', ')}}`
}

/** What `%q` makes of a list of strings. */
function goQuoteList(values: readonly string[]): string {
  return `[${values.map(goQuote).join(' ')}]`
}
