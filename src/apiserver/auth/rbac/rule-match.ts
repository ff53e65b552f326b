/** Whether a single rule lets a request pass. A star stands for a whole word, or for the end of a path. */
import type { Attributes, PolicyRule } from '../../request/authorizer.ts'
import { hasWord } from './word-list.ts'

/** Whether this one rule allows what is asked. Counts nothing: see `rulesAllow` for rules that others wrote. */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!includesOrAll(rule.verbs, attributes.verb)) return false
  if (attributes.kind === 'non-resource') return pathMatches(rule.nonResourceURLs, attributes.path)
  return (
    includesOrAll(rule.apiGroups, attributes.apiGroup) &&
    resourceMatches(rule.resources, attributes.resource, attributes.subresource) &&
    nameMatches(rule.resourceNames, attributes.name)
  )
}

function includesOrAll(values: readonly string[] | undefined, value: string): boolean {
  return hasWord(values, value) || hasWord(values, '*')
}

/** `pods` does not include `pods/log`, and `pods/*` means nothing. */
function resourceMatches(resources: readonly string[] | undefined, resource: string, subresource: string): boolean {
  if (subresource === '') return includesOrAll(resources, resource)
  return includesOrAll(resources, `${resource}/${subresource}`) || hasWord(resources, `*/${subresource}`)
}

/** A rule with names never matches a request without one, such as a list or a create. */
function nameMatches(names: readonly string[] | undefined, name: string): boolean {
  return !names?.length || hasWord(names, name)
}

function pathMatches(patterns: readonly string[] | undefined, path: string): boolean {
  return patterns?.some((pattern) => pathCovers(pattern, path)) === true
}

/** All stars at the end go, however many: `/a**` is `/a*`. */
export function pathCovers(pattern: string, path: string): boolean {
  if (pattern === path) return true
  let end = pattern.length
  while (pattern[end - 1] === '*') end--
  return end < pattern.length && path.startsWith(pattern.slice(0, end))
}
