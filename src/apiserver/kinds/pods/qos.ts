/** The quality of service of a pod: what its requests and limits promise. It is fixed when the pod is created. */
import { type Fields, struct, structs } from '../fields.ts'
import { compareQuantities, quantities, quantityInNano } from '../quantities.ts'

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

const countedResources = ['cpu', 'memory'] as const

export function qosClass(spec: Fields): QosClass {
  const podLevel = struct(spec, 'resources')
  const holders =
    podLevel === undefined
      ? [...structs(spec, 'containers'), ...structs(spec, 'initContainers')].map((container) =>
          struct(container, 'resources'),
        )
      : [podLevel]
  const amounts = holders.map((resources) => ({
    requests: countedAmounts(resources, 'requests'),
    limits: countedAmounts(resources, 'limits'),
  }))
  if (amounts.every(({ requests, limits }) => requests.size === 0 && limits.size === 0)) return 'BestEffort'
  const guaranteed = amounts.every(({ requests, limits }) =>
    countedResources.every((resource) => {
      const [request, limit] = [requests.get(resource), limits.get(resource)]
      return limit !== undefined && (request === undefined || compareQuantities(request, limit) === 0)
    }),
  )
  return guaranteed ? 'Guaranteed' : 'Burstable'
}

function countedAmounts(resources: Fields | undefined, name: string): Map<string, string> {
  const counted = quantities(resources, name).filter(
    ([resource, quantity]) => countedResources.some((known) => known === resource) && quantityInNano(quantity) > 0n,
  )
  return new Map(counted)
}
