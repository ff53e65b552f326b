/** The older of the two kinds for `localendpoints`: Endpoints, whose addresses move between those that are ready and the others. */
import { isIPv6 } from 'node:net'
import type { FieldEdit } from '../../kube/walker/walker.ts'
import type { LocalPodsView, ObjectView } from './filter.ts'
import { addressOf, localPodBehind, type PodReference, put } from './local-pod-reference.ts'

interface SubsetAddress extends PodReference {
  readonly ip?: string
}

interface Subset {
  readonly addresses?: readonly SubsetAddress[]
  readonly notReadyAddresses?: readonly SubsetAddress[]
}

type AddressList = keyof Subset
const lists: readonly AddressList[] = ['addresses', 'notReadyAddresses']

/** Where an address belongs now, and how it reads there. */
interface Placed {
  readonly list: AddressList
  readonly address: SubsetAddress
}

export function decideSubsets(
  object: ObjectView,
  subsets: readonly Subset[],
  localPods: LocalPodsView,
): readonly FieldEdit[] {
  const { namespace, name } = object.identity
  // A Service that is not known here is taken for one of the usual kind.
  const isPublished = localPods.publishesNotReady(namespace, name) ?? false
  const edits: FieldEdit[] = []
  // From the last to the first, so that those before keep their places.
  for (const [index, subset] of [...subsets.entries()].toReversed())
    edits.push(...subsetEdits(index, subset, isPublished, localPods))
  return edits
}

function subsetEdits(index: number, subset: Subset, isPublished: boolean, localPods: LocalPodsView): FieldEdit[] {
  const isTold = lists.some((list) => subset[list]?.some((one) => localPodBehind(one, localPods) !== undefined))
  if (!isTold) return []
  const stays: FieldEdit[] = []
  const after: Record<AddressList, SubsetAddress[]> = { addresses: [], notReadyAddresses: [] }
  let isMoved = false
  for (const list of lists) {
    for (const [place, address] of (subset[list] ?? []).entries()) {
      const placed = placeOf(list, address, isPublished, localPods)
      isMoved ||= placed?.list !== list
      if (placed === undefined) continue
      after[placed.list].push(placed.address)
      stays.push(put(['subsets', index, list, place, 'ip'], placed.address.ip))
    }
  }
  // As deep as it can be: where all stay in their places only what differs is written.
  if (!isMoved) return stays
  if (lists.every((list) => after[list].length === 0)) return [{ path: ['subsets', index], replace: () => undefined }]
  return lists.map((list) => put(['subsets', index, list], after[list].length === 0 ? undefined : after[list]))
}

/** Undefined for the address of a pod that would not be listed at all. */
function placeOf(
  list: AddressList,
  address: SubsetAddress,
  isPublished: boolean,
  localPods: LocalPodsView,
): Placed | undefined {
  const pod = localPodBehind(address, localPods)
  if (pod === undefined) return { list, address }
  // The family is that of the Service, which the address that was there has too.
  const ip = addressOf(pod, isIPv6(address.ip ?? ''))
  if (pod.isOver || ip === undefined || (pod.isTerminating && !isPublished)) return undefined
  const placed = isPublished || pod.isReady ? 'addresses' : 'notReadyAddresses'
  return { list: placed, address: ip === address.ip ? address : { ...address, ip } }
}
