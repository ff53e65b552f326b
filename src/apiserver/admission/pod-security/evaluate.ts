/** Which rules of a standard a pod breaks. */
import { struct, text } from '../../kinds/fields.ts'
import { BASELINE_RULES } from './baseline.ts'
import type { Standard } from './policy.ts'
import { RESTRICTED_RULES } from './restricted.ts'
import { holdsIn, type Rule } from './rule.ts'
import type { Breach, Subject } from './subject.ts'

export function breachesOf(subject: Subject, standard: Standard): Breach[] {
  return rulesOf(standard).flatMap((rule) => {
    if (isSpared(subject, rule, standard.minor)) return []
    return rule.check(subject, standard.minor) ?? []
  })
}

function rulesOf({ level, minor }: Standard): Rule[] {
  if (level === 'privileged') return []
  const baseline = BASELINE_RULES.filter((rule) => holdsIn(rule, minor))
  if (level === 'baseline') return baseline
  const restricted = RESTRICTED_RULES.filter((rule) => holdsIn(rule, minor))
  const replaced = restricted.map(({ replaces }) => replaces)
  return [...baseline.filter(({ id }) => !replaced.includes(id)), ...restricted]
}

function isSpared({ spec }: Subject, rule: Rule, minor: number): boolean {
  if (rule.sparesUserNamespaces === true && spec['hostUsers'] === false) return true
  const { sparesWindowsSince: since } = rule
  return since !== undefined && minor >= since && text(struct(spec, 'os'), 'name') === 'windows'
}

/** All reasons, with their details. */
export function tellBreaches(breaches: readonly Breach[]): string {
  return breaches.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ')
}
