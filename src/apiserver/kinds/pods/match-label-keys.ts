/**
 * `matchLabelKeys` of affinity terms and spread constraints: the values that the labels of the pod have when it is created
 * become a part of the selector.
 */
import { ensureStruct, type Fields, has, struct, structs, textMap, texts } from '../fields.ts'

const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'

export function resolveMatchLabelKeys(pod: Fields): void {
  const spec = struct(pod, 'spec')
  const labels = textMap(struct(pod, 'metadata'), 'labels')
  for (const name of ['podAffinity', 'podAntiAffinity']) {
    const affinity = struct(struct(spec, 'affinity'), name)
    const weighted = structs(affinity, preferred).map((term) => struct(term, 'podAffinityTerm') ?? {})
    for (const term of [...weighted, ...structs(affinity, required)]) {
      addRequirements(term, 'matchLabelKeys', 'In', labels)
      addRequirements(term, 'mismatchLabelKeys', 'NotIn', labels)
    }
  }
  for (const constraint of structs(spec, 'topologySpreadConstraints')) {
    addRequirements(constraint, 'matchLabelKeys', 'In', labels)
  }
}

function addRequirements(term: Fields, name: string, operator: string, labels: Readonly<Record<string, string>>): void {
  if (!has(term, 'labelSelector')) return
  const added = texts(term, name).flatMap((key) => {
    const value = labels[key]
    return value === undefined ? [] : [{ key, operator, values: [value] }]
  })
  const selector = ensureStruct(term, 'labelSelector')
  if (added.length > 0) selector['matchExpressions'] = [...structs(selector, 'matchExpressions'), ...added]
}
