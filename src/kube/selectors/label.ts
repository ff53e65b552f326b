/** Label selectors: everything an API client can say about labels, from text or from a LabelSelector object. */

import { goQuote } from '../status/go-text.ts'
import { badRequest } from '../status/request-errors.ts'
import { parseRequirements } from './label-parser.ts'
import {
  formatRequirement,
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  labelRequirement,
  matchesRequirement,
} from './label-requirement.ts'
import { checkSelectorCount, MAX_SELECTOR_REQUIREMENTS } from './limits.ts'

/** All requirements must hold; none at all matches everything. Requirements are in the order of their keys. */
export type LabelSelector =
  | { readonly matches: 'nothing' }
  | { readonly matches: 'requirements'; readonly requirements: readonly LabelRequirement[] }

export const EVERY_LABEL: LabelSelector = { matches: 'requirements', requirements: [] }
export const NO_LABEL: LabelSelector = { matches: 'nothing' }

/** Throws a 400 with the API server's message. */
export function parseLabelSelector(text: string): LabelSelector {
  return labelSelector(parseRequirements(text))
}

export function labelSelector(requirements: readonly LabelRequirement[]): LabelSelector {
  return { matches: 'requirements', requirements: requirements.toSorted((a, b) => compare(a.key, b.key)) }
}

export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

const objectOperators: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
])

/** A missing object selects nothing, an empty one everything. */
export function labelSelectorFromObject(object: LabelSelectorObject | undefined): LabelSelector {
  if (object === undefined) return NO_LABEL
  const labels = Object.entries(object.matchLabels ?? {})
  const expressions = object.matchExpressions ?? []
  checkSelectorCount('label selector requirements', labels.length + expressions.length, MAX_SELECTOR_REQUIREMENTS)
  return labelSelector([
    ...labels.map(([key, value]) => labelRequirement(key, '=', [value])),
    ...expressions.map(({ key, operator, values = [] }) => labelRequirement(key, objectOperator(operator), values)),
  ])
}

function objectOperator(name: string): LabelOperator {
  const operator = objectOperators.get(name)
  if (operator === undefined) throw badRequest(`${goQuote(name)} is not a valid label selector operator`)
  return operator
}

export function matchesLabels(selector: LabelSelector, labels: Labels | undefined): boolean {
  if (selector.matches === 'nothing') return false
  const present = labels ?? {}
  return selector.requirements.every((requirement) => matchesRequirement(requirement, present))
}

/** True when the selector lets every object through. */
export function isEmptyLabelSelector(selector: LabelSelector): boolean {
  return selector.matches === 'requirements' && selector.requirements.length === 0
}

/** The text form, which parses back to the same selector. `NO_LABEL` has none of its own: it prints as nothing. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector.matches === 'nothing' ? '' : selector.requirements.map(formatRequirement).join(',')
}

/** The one value a label must have, if the first requirement on it asks for exactly one. */
export function requiredLabelValue(selector: LabelSelector, key: string): string | undefined {
  if (selector.matches === 'nothing') return undefined
  const requirement = selector.requirements.find((candidate) => candidate.key === key)
  if (requirement === undefined || !['=', '==', 'in'].includes(requirement.operator)) return undefined
  return requirement.values.length === 1 ? requirement.values[0] : undefined
}

/** Equal for selectors that differ only in spelling: order, repetition, `==` for `=`, sets of one. */
export function labelSelectorKey(selector: LabelSelector): string {
  if (selector.matches === 'nothing') return '<nothing>'
  return [...new Set(selector.requirements.map(plainest).map(formatRequirement))].toSorted().join(',')
}

function plainest({ key, operator, values: given }: LabelRequirement): LabelRequirement {
  const values = [...new Set(given)].toSorted()
  if (values.length !== 1) return { key, operator, values }
  if (operator === 'in' || operator === '==') return { key, operator: '=', values }
  return { key, operator: operator === 'notin' ? '!=' : operator, values }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
