/**
 * What a whole pod asks for. Containers run together and add up; init containers run one after the other before them, so
 * the largest counts; an init container that keeps running (a sidecar) adds to everything that starts after it.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, struct, structs, text } from '../kinds/fields.ts'
import { type Amounts, addAmounts, addQuantities, amountsOf, isZero, maxAmounts } from './amounts.ts'

export type AmountKind = 'requests' | 'limits'
type AmountsOfContainer = (container: Fields) => Amounts

/** The resources that a pod may ask for as a whole, in place of its containers. */
const podLevelResources = ['cpu', 'memory']

/** As the spec says it, without the overhead of the runtime. */
export function specifiedPodAmounts(pod: KubeObject, kind: AmountKind): Record<string, string> {
  const spec = struct(pod, 'spec') ?? {}
  return withPodLevel(
    spec,
    kind,
    sumOf(spec, (container) => amountsOf(struct(container, 'resources'), kind)),
  )
}

/** As it is charged: a resize that is under way counts as the larger of both sizes, and the overhead counts too. */
export function chargedPodAmounts(pod: KubeObject, kind: AmountKind): Record<string, string> {
  const spec = struct(pod, 'spec') ?? {}
  const amounts = withPodLevel(spec, kind, sumOf(spec, actuatedAmounts(pod, kind)))
  for (const [name, amount] of Object.entries(amountsOf(spec, 'overhead'))) {
    const present = amounts[name] ?? '0'
    // What is not limited stays unlimited.
    if (kind === 'requests' || !isZero(present)) amounts[name] = addQuantities(present, amount)
  }
  return amounts
}

function sumOf(spec: Fields, amountsOfContainer: AmountsOfContainer): Record<string, string> {
  let running = structs(spec, 'containers').map(amountsOfContainer).reduce(addAmounts, {})
  let sidecars: Amounts = {}
  let starting: Amounts = {}
  for (const container of structs(spec, 'initContainers')) {
    const own = amountsOfContainer(container)
    const withSidecars = addAmounts(own, sidecars)
    if (text(container, 'restartPolicy') === 'Always') {
      running = addAmounts(running, own)
      sidecars = withSidecars
    }
    starting = maxAmounts(starting, withSidecars)
  }
  return maxAmounts(running, starting)
}

function withPodLevel(spec: Fields, kind: AmountKind, amounts: Record<string, string>): Record<string, string> {
  for (const [name, amount] of Object.entries(amountsOf(struct(spec, 'resources'), kind))) {
    if (podLevelResources.includes(name)) amounts[name] = amount
  }
  return amounts
}

function actuatedAmounts(pod: KubeObject, kind: AmountKind): AmountsOfContainer {
  const status = struct(pod, 'status')
  const statuses = [...structs(status, 'containerStatuses'), ...structs(status, 'initContainerStatuses')]
  const pending = structs(status, 'conditions').find((condition) => text(condition, 'type') === 'PodResizePending')
  const isInfeasible = text(pending, 'reason') === 'Infeasible'
  return (container) => {
    const wanted = amountsOf(struct(container, 'resources'), kind)
    const own = statuses.find((candidate) => text(candidate, 'name') === text(container, 'name'))
    const resources = struct(own, 'resources')
    if (resources === undefined) return wanted
    const allocated = kind === 'requests' ? amountsOf(own, 'allocatedResources') : {}
    const actual = maxAmounts(amountsOf(resources, kind), allocated)
    return isInfeasible ? actual : maxAmounts(wanted, actual)
  }
}
