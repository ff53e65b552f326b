/**
 * What a whole pod asks for. Containers run together and add up; init containers run one after the other before them, so
 * the largest counts; an init container that keeps running (a sidecar) adds to everything that starts after it.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, struct, structs, text } from '../kinds/fields.ts'
import { addTotal, addTotals, NOTHING, raiseTotal, raiseTotals, type Total, type Totals, totalsOf } from './totals.ts'

export type AmountKind = 'requests' | 'limits'
type TotalsOfContainer = (container: Fields) => Totals

/** The resources that a pod may ask for as a whole, in place of its containers. */
const podLevelResources = ['cpu', 'memory']

/** As the spec says it, without the overhead of the runtime. */
export function specifiedPodTotals(pod: KubeObject, kind: AmountKind): Map<string, Total> {
  const spec = struct(pod, 'spec') ?? {}
  return withPodLevel(
    spec,
    kind,
    sumOf(spec, (container) => totalsOf(struct(container, 'resources'), kind)),
  )
}

/**
 * As it is charged, of all resources or of these: a resize that is under way counts as the larger of both sizes, and the
 * overhead counts too.
 */
export function chargedPodTotals(pod: KubeObject, kind: AmountKind, resources?: readonly string[]): Map<string, Total> {
  const spec = struct(pod, 'spec') ?? {}
  const totals = withPodLevel(spec, kind, sumOf(spec, actuatedTotals(pod, kind, resources)), resources)
  for (const [name, overhead] of totalsOf(spec, 'overhead', resources)) {
    // What is not limited stays unlimited.
    const isCharged = kind === 'requests' || (totals.get(name) ?? NOTHING).nano !== 0n
    if (isCharged) addTotal(totals, name, overhead)
  }
  return totals
}

function sumOf(spec: Fields, totalsOfContainer: TotalsOfContainer): Map<string, Total> {
  const running = new Map<string, Total>()
  const sidecars = new Map<string, Total>()
  const starting = new Map<string, Total>()
  for (const container of structs(spec, 'containers')) addTotals(running, totalsOfContainer(container))
  for (const container of structs(spec, 'initContainers')) {
    const own = totalsOfContainer(container)
    if (text(container, 'restartPolicy') === 'Always') {
      addTotals(running, own)
      addTotals(sidecars, own)
    } else {
      // What the sidecars use beside it is no more than what runs in the end.
      for (const [name, total] of own) raiseTotal(starting, name, total.plus(sidecars.get(name) ?? NOTHING))
    }
  }
  raiseTotals(running, starting)
  return running
}

function withPodLevel(
  spec: Fields,
  kind: AmountKind,
  totals: Map<string, Total>,
  wanted: readonly string[] = podLevelResources,
): Map<string, Total> {
  const resources = podLevelResources.filter((resource) => wanted.includes(resource))
  for (const [name, total] of totalsOf(struct(spec, 'resources'), kind, resources)) totals.set(name, total)
  return totals
}

function actuatedTotals(pod: KubeObject, kind: AmountKind, resources?: readonly string[]): TotalsOfContainer {
  const status = struct(pod, 'status')
  const pending = structs(status, 'conditions').find((condition) => text(condition, 'type') === 'PodResizePending')
  const isInfeasible = text(pending, 'reason') === 'Infeasible'
  const statuses = statusesByName(status)
  return (container) => {
    const wanted = totalsOf(struct(container, 'resources'), kind, resources)
    const own = statuses.get(text(container, 'name'))
    const reported = struct(own, 'resources')
    if (reported === undefined) return wanted
    const actual = totalsOf(reported, kind, resources)
    if (kind === 'requests') raiseTotals(actual, totalsOf(own, 'allocatedResources', resources))
    if (isInfeasible) return actual
    raiseTotals(wanted, actual)
    return wanted
  }
}

/** The first of each name. */
function statusesByName(status: Fields | undefined): ReadonlyMap<string, Fields> {
  const byName = new Map<string, Fields>()
  for (const own of [...structs(status, 'containerStatuses'), ...structs(status, 'initContainerStatuses')]) {
    const name = text(own, 'name')
    if (!byName.has(name)) byName.set(name, own)
  }
  return byName
}
