/** Scopes: which of the objects of a namespace a quota counts. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type Fields, has, integer, struct, structs, text, texts } from '../../kinds/fields.ts'
import { qosClass } from '../../kinds/pods/qos.ts'

/** What an object is by each scope that it can have: true or not, or the names that it has there. */
export type ScopeValues = Readonly<Record<string, boolean | readonly string[]>>

/** Of objects that scopes know nothing about. */
export const NO_SCOPES: ScopeValues = {}

export interface ScopeRequirement {
  readonly scope: string
  readonly operator: string
  readonly values: readonly string[]
}

export function scopesOf(quota: KubeObject): ScopeRequirement[] {
  const spec = struct(quota, 'spec')
  return [
    ...texts(spec, 'scopes').map((scope) => ({ scope, operator: 'Exists', values: [] })),
    ...structs(struct(spec, 'scopeSelector'), 'matchExpressions').map((expression) => ({
      scope: text(expression, 'scopeName'),
      operator: text(expression, 'operator'),
      values: texts(expression, 'values'),
    })),
  ]
}

/** A scope that an object cannot have does not match it. */
export function matchesScopes(requirements: readonly ScopeRequirement[], scopes: ScopeValues): boolean {
  return requirements.every((requirement) => {
    const value = scopes[requirement.scope]
    return typeof value === 'object' ? namesMatch(requirement, value) : value === true
  })
}

export function podScopes(pod: KubeObject): ScopeValues {
  const spec = struct(pod, 'spec') ?? {}
  const isBestEffort = qosClass(spec) === 'BestEffort'
  return {
    Terminating: isTerminating(pod),
    NotTerminating: !isTerminating(pod),
    BestEffort: isBestEffort,
    NotBestEffort: !isBestEffort,
    PriorityClass: [text(spec, 'priorityClassName')],
    CrossNamespacePodAffinity: looksIntoOtherNamespaces(struct(spec, 'affinity')),
  }
}

/** Claims are told apart only by their volume attributes classes: the wanted, the present and the one under way. */
export function claimScopes(claim: KubeObject): ScopeValues {
  const status = struct(claim, 'status')
  return {
    VolumeAttributesClass: [
      text(struct(claim, 'spec'), 'volumeAttributesClassName'),
      text(status, 'currentVolumeAttributesClassName'),
      text(struct(status, 'modifyVolumeStatus'), 'targetVolumeAttributesClassName'),
    ],
  }
}

/** Whether the pod ends by itself after a time. */
export function isTerminating(pod: KubeObject): boolean {
  return (integer(struct(pod, 'spec'), 'activeDeadlineSeconds') ?? -1) >= 0
}

function namesMatch({ operator, values }: ScopeRequirement, candidates: readonly string[]): boolean {
  const names = candidates.filter((name) => name !== '')
  switch (operator) {
    case 'Exists':
      return names.length > 0
    case 'DoesNotExist':
      return names.length === 0
    case 'In':
      return names.some((name) => values.includes(name))
    case 'NotIn':
      return names.length === 0 || names.some((name) => !values.includes(name))
    default:
      return false
  }
}

function looksIntoOtherNamespaces(affinity: Fields | undefined): boolean {
  const terms = ['podAffinity', 'podAntiAffinity'].flatMap((side) => {
    const rules = struct(affinity, side)
    const preferred = structs(rules, 'preferredDuringSchedulingIgnoredDuringExecution')
    return [
      ...structs(rules, 'requiredDuringSchedulingIgnoredDuringExecution'),
      ...preferred.map((weighted) => struct(weighted, 'podAffinityTerm')),
    ]
  })
  return terms.some((term) => texts(term, 'namespaces').length > 0 || has(term, 'namespaceSelector'))
}
