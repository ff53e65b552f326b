/** Who makes the rules of a namespace stricter learns which of its pods would not be let in any more. */
import type { Clock } from '../../../runtime/clock.ts'
import type { Steps } from '../../../runtime/steps.ts'
import type { UnreadObject } from '../lookup.ts'
import { breachesOf } from './evaluate.ts'
import { describeStandard, type Standard } from './policy.ts'
import { subjectOf } from './subject.ts'

/** Enough to find every sort of pod in a namespace; the API server looks at as many. */
export const MAX_PODS_TO_CHECK = 3000
/** For so long at most; whoever asks waits for it. */
export const POD_CHECK_MS = 1_000

/** With a stop after each pod. */
export function* existingPodWarnings(
  namespace: string,
  standard: Standard,
  pods: readonly UnreadObject[],
  clock: Clock,
): Steps<string[]> {
  const untilMs = clock.monotonicMs() + POD_CHECK_MS
  const inOrder = yield* oneOfEachFirst(pods)
  const podsByReason = new Map<string, string[]>()
  let checked = 0
  for (const existing of inOrder.slice(0, MAX_PODS_TO_CHECK)) {
    const pod = existing.object()
    const reasons = breachesOf(subjectOf(pod), standard).map(({ reason }) => reason)
    if (reasons.length > 0) note(podsByReason, reasons.join(', '), pod.metadata?.name ?? '')
    checked++
    if (clock.monotonicMs() >= untilMs) break
    yield
  }
  const warnings: string[] = []
  if (checked < pods.length) {
    const count = `${checked} of ${pods.length}`
    warnings.push(`new PodSecurity enforce level only checked against the first ${count} existing pods`)
  }
  if (podsByReason.size > 0) {
    const level = `"${describeStandard(standard)}"`
    warnings.push(`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level ${level}`)
  }
  return [...warnings, ...[...podsByReason].map(([reason, names]) => `${tellPods(names)}: ${reason}`).toSorted()]
}

function note(podsByReason: Map<string, string[]>, reason: string, name: string): void {
  const names = podsByReason.get(reason)
  if (names === undefined) podsByReason.set(reason, [name])
  else names.push(name)
}

/** Pods of one controller are alike: one of each is looked at before the rest. */
function* oneOfEachFirst(pods: readonly UnreadObject[]): Steps<UnreadObject[]> {
  const seen = new Set<string>()
  const [first, rest]: [UnreadObject[], UnreadObject[]] = [[], []]
  for (const pod of pods) {
    const owner = pod.metadata().ownerReferences?.find(({ controller }) => controller === true)?.uid
    const list = owner !== undefined && seen.has(owner) ? rest : first
    list.push(pod)
    if (owner !== undefined) seen.add(owner)
    yield
  }
  return [...first, ...rest]
}

function tellPods(names: readonly string[]): string {
  const [name = ''] = names.toSorted()
  if (names.length === 1) return name
  return `${name} (and ${names.length - 1} other ${names.length === 2 ? 'pod' : 'pods'})`
}
