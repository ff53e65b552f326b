/** Who makes the rules of a namespace stricter learns which of its pods would not be let in any more. */
import type { KubeObject } from '../../../kube/objects.ts'
import { breachesOf } from './evaluate.ts'
import { describeStandard, type Standard } from './policy.ts'
import { subjectOf } from './subject.ts'

/** Enough to find every sort of pod in a namespace, and a fraction of a second of work. */
export const MAX_PODS_TO_CHECK = 3000

export function existingPodWarnings(namespace: string, standard: Standard, pods: readonly KubeObject[]): string[] {
  const checked = oneOfEachFirst(pods).slice(0, MAX_PODS_TO_CHECK)
  const podsByReason = new Map<string, string[]>()
  for (const pod of checked) {
    const reasons = breachesOf(subjectOf(pod), standard).map(({ reason }) => reason)
    if (reasons.length === 0) continue
    const key = reasons.join(', ')
    podsByReason.set(key, [...(podsByReason.get(key) ?? []), pod.metadata?.name ?? ''])
  }
  const warnings: string[] = []
  if (checked.length < pods.length) {
    const count = `${checked.length} of ${pods.length}`
    warnings.push(`new PodSecurity enforce level only checked against the first ${count} existing pods`)
  }
  if (podsByReason.size > 0) {
    const level = `"${describeStandard(standard)}"`
    warnings.push(`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level ${level}`)
  }
  return [...warnings, ...[...podsByReason].map(([reason, names]) => `${tellPods(names)}: ${reason}`).toSorted()]
}

/** Pods of one controller are alike: one of each is looked at before the rest. */
function oneOfEachFirst(pods: readonly KubeObject[]): KubeObject[] {
  const seen = new Set<string>()
  const [first, rest]: [KubeObject[], KubeObject[]] = [[], []]
  for (const pod of pods) {
    const owner = pod.metadata?.ownerReferences?.find(({ controller }) => controller === true)?.uid
    const list = owner !== undefined && seen.has(owner) ? rest : first
    list.push(pod)
    if (owner !== undefined) seen.add(owner)
  }
  return [...first, ...rest]
}

function tellPods(names: readonly string[]): string {
  const [name = ''] = names.toSorted()
  if (names.length === 1) return name
  return `${name} (and ${names.length - 1} other ${names.length === 2 ? 'pod' : 'pods'})`
}
