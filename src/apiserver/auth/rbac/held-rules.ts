/** The rules that somebody holds, in order of what they are about: only few of them have to be held against another rule. */
import type { Steps } from '../../../runtime/steps.ts'
import type { PolicyRule } from '../../request/authorizer.ts'
import type { Comparisons } from './comparisons.ts'
import { type CompleteRule, completeRule } from './objects.ts'
import { pathCovers } from './rule-match.ts'
import { hasWord } from './word-list.ts'

export class HeldRules {
  readonly #byResource = new Map<string, CompleteRule[]>()
  readonly #ofPaths: CompleteRule[] = []

  /** Indexes the rules, in steps: there may be many. */
  static *of(rules: Iterable<PolicyRule>, comparisons: Comparisons): Steps<HeldRules> {
    const held = new HeldRules()
    for (const rule of rules) {
      held.#add(completeRule(rule), comparisons)
      if (comparisons.isStepOver) yield
    }
    return held
  }

  #add(rule: CompleteRule, comparisons: Comparisons): void {
    const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
    comparisons.take(1 + verbs.length + apiGroups.length + resources.length + resourceNames.length)
    for (const path of nonResourceURLs) comparisons.takeFor(path)
    const held = { ...rule, nonResourceURLs: nonResourceURLs.map(withOneStar) }
    if (nonResourceURLs.length > 0) this.#ofPaths.push(held)
    for (const resource of new Set(resources)) {
      const known = this.#byResource.get(resource)
      if (known === undefined) this.#byResource.set(resource, [held])
      else known.push(held)
    }
  }

  /** Whether a single one of the rules includes all of this one, which is about something. */
  *include(wanted: CompleteRule, comparisons: Comparisons): Steps<boolean> {
    comparisons.take(1)
    if (comparisons.isStepOver) yield
    for (const candidates of this.#candidates(wanted)) {
      for (const held of candidates) {
        if (covers(held, wanted, comparisons)) return true
        if (comparisons.isStepOver) yield
      }
    }
    return false
  }

  /** Whatever includes the rule includes its first resource. */
  #candidates({ resources }: CompleteRule): readonly (readonly CompleteRule[])[] {
    const [first] = resources
    if (first === undefined) return [this.#ofPaths]
    const keys = new Set([first, '*', wildcardOf(first) ?? '*'])
    return [...keys].map((key) => this.#byResource.get(key) ?? [])
  }
}

function covers(held: CompleteRule, wanted: CompleteRule, comparisons: Comparisons): boolean {
  comparisons.take(1)
  return (
    hasEach(held.verbs, wanted.verbs, comparisons) &&
    hasEach(held.apiGroups, wanted.apiGroups, comparisons) &&
    wanted.resources.every((resource) => coversResource(held.resources, resource, comparisons)) &&
    coversNames(held.resourceNames, wanted.resourceNames, comparisons) &&
    wanted.nonResourceURLs.every((path) => coversPath(held.nonResourceURLs, path, comparisons))
  )
}

/** A star stands for every word. */
function hasEach(held: readonly string[], wanted: readonly string[], comparisons: Comparisons): boolean {
  if (hasWord(held, '*')) return true
  return wanted.every((word) => {
    comparisons.takeFor(word)
    return hasWord(held, word)
  })
}

function coversResource(held: readonly string[], resource: string, comparisons: Comparisons): boolean {
  comparisons.takeFor(resource)
  if (hasWord(held, '*') || hasWord(held, resource)) return true
  const wildcard = wildcardOf(resource)
  return wildcard !== undefined && hasWord(held, wildcard)
}

/** `*` and the subresource, where there is one. */
function wildcardOf(resource: string): string | undefined {
  const slash = resource.indexOf('/')
  return slash === -1 ? undefined : `*${resource.slice(slash)}`
}

/** No names means all names: that only a rule without names can grant. */
function coversNames(held: readonly string[], wanted: readonly string[], comparisons: Comparisons): boolean {
  if (held.length === 0) return true
  if (wanted.length === 0) return false
  return wanted.every((name) => {
    comparisons.takeFor(name)
    return hasWord(held, name)
  })
}

function coversPath(patterns: readonly string[], path: string, comparisons: Comparisons): boolean {
  return patterns.some((pattern) => {
    comparisons.takeFor(path)
    return pathCovers(pattern, path)
  })
}

/** Many stars at the end mean what one means, and would be counted each time. */
function withOneStar(pattern: string): string {
  let end = pattern.length
  while (pattern[end - 1] === '*' && pattern[end - 2] === '*') end--
  return pattern.slice(0, end)
}
