/** Scopes: which of the objects of a namespace a quota counts. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type Fields, has, integer, struct, structs, text, texts } from '../../kinds/fields.ts'
import { qosClass } from '../../kinds/pods/qos.ts'

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

/** Scopes that are not about pods match no pod. */
export function podMatchesScope(requirement: ScopeRequirement, pod: KubeObject): boolean {
  const spec = struct(pod, 'spec') ?? {}
  switch (requirement.scope) {
    case 'Terminating':
      return isTerminating(pod)
    case 'NotTerminating':
      return !isTerminating(pod)
    case 'BestEffort':
      return qosClass(spec) === 'BestEffort'
    case 'NotBestEffort':
      return qosClass(spec) !== 'BestEffort'
    case 'PriorityClass':
      return namesMatch(requirement, [text(spec, 'priorityClassName')])
    case 'CrossNamespacePodAffinity':
      return looksIntoOtherNamespaces(struct(spec, 'affinity'))
    default:
      return false
  }
}

/** Claims are told apart only by their volume attributes classes: the wanted, the present and the one under way. */
export function claimMatchesScope(requirement: ScopeRequirement, claim: KubeObject): boolean {
  if (requirement.scope !== 'VolumeAttributesClass') return false
  const status = struct(claim, 'status')
  return namesMatch(requirement, [
    text(struct(claim, 'spec'), 'volumeAttributesClassName'),
    text(status, 'currentVolumeAttributesClassName'),
    text(struct(status, 'modifyVolumeStatus'), 'targetVolumeAttributesClassName'),
  ])
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
