/** The sentence that refuses an escalation, with the missing permissions gathered and sorted as the API server does. */
import { goQuote } from '../../../kube/status/go-text.ts'
import { joinErrors, type PolicyRule } from '../../request/authorizer.ts'
import type { UserInfo } from '../../request/user.ts'
import { RBAC_GROUP, type RoleRef } from './objects.ts'

/** Of the missing permissions and of the roles that were not found, each: who reads more than a page of either? */
export const MAX_ESCALATION_CHARACTERS = 16 * 1024

export function escalationText(user: UserInfo, missing: readonly PolicyRule[], unresolved: readonly RoleRef[]): string {
  const who = `user ${goQuote(user.name)} (groups=${goQuoteList(user.groups)})`
  const told = thatFit(missing, charactersOf)
  const lines = [...new Set(gatherVerbs(told).map(describeRule))].toSorted()
  const rest = missing.length - told.length
  const more = rest === 0 ? '' : `\n... and ${rest} more`
  const errors = thatFit(unresolved, ({ name }) => name.length).map(
    ({ kind, name }) => `${kind.toLowerCase()}s.${RBAC_GROUP} ${goQuote(name)} not found`,
  )
  const suffix = errors.length === 0 ? '' : `; resolution errors: [${joinErrors(errors)}]`
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${more}${suffix}`
}

/** As many from the front as fit into `MAX_ESCALATION_CHARACTERS`: a refusal that is longer nobody reads. */
function thatFit<Told>(all: readonly Told[], lengthOf: (told: Told) => number): readonly Told[] {
  let characters = 0
  const end = all.findIndex((each) => {
    characters += lengthOf(each) + 1
    return characters > MAX_ESCALATION_CHARACTERS
  })
  return end === -1 ? all : all.slice(0, end)
}

function charactersOf({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule) {
  const words = [...verbs, ...apiGroups, ...resources, ...resourceNames, ...nonResourceURLs]
  return words.reduce((sum, word) => sum + word.length, 0)
}

/** Permissions on the same resource and name become one rule with all their verbs; those on paths stay alone. */
function gatherVerbs(permissions: readonly PolicyRule[]): PolicyRule[] {
  const gathered = new Map<string, PolicyRule & { readonly verbs: string[] }>()
  for (const permission of permissions) {
    const { verbs, ...object } = permission
    const key = JSON.stringify(permission.nonResourceURLs === undefined ? object : permission)
    const same = gathered.get(key)
    if (same === undefined) gathered.set(key, { ...permission, verbs: [...verbs] })
    else same.verbs.push(...verbs)
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
