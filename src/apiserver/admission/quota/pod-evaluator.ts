/** Pods are counted while they run, and with them what they ask for. */
import type { KubeObject } from '../../../kube/objects.ts'
import { struct, structs, text } from '../../kinds/fields.ts'
import { type Amounts, amountsOf } from '../amounts.ts'
import { PODS } from '../lookup.ts'
import { chargedPodAmounts } from '../pod-amounts.ts'
import { countName, type QuotaEvaluator } from './evaluator.ts'
import { isTerminating, podMatchesScope } from './scopes.ts'

const requestsPrefix = 'requests.'
const deviceClassPrefix = 'deviceclass.resource.kubernetes.io/'
const computeResources = ['cpu', 'memory', 'ephemeral-storage']
/** A pod that does not say these could use any amount, so it must say them. */
const mustBeSpecified = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']
const covered = new Set([
  countName(PODS),
  'pods',
  ...computeResources.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
])

export const POD_EVALUATOR: QuotaEvaluator = {
  resource: PODS,
  handles({ operation, subresource, object, old }) {
    if (subresource === 'resize') return operation === 'UPDATE'
    if (subresource !== '') return false
    if (operation === 'CREATE') return true
    return (
      operation === 'UPDATE' &&
      object !== undefined &&
      old !== undefined &&
      isTerminating(object) !== isTerminating(old)
    )
  },
  covers: (name) =>
    covered.has(name) ||
    name.startsWith('hugepages-') ||
    name.startsWith('requests.hugepages-') ||
    (name.startsWith(requestsPrefix) && isExtended(name)),
  matchesScope: podMatchesScope,
  usage(pod, nowMs) {
    const counted = { [countName(PODS)]: '1' }
    if (!isCharged(pod, nowMs)) return counted
    return { ...counted, ...charge(chargedPodAmounts(pod, 'requests'), chargedPodAmounts(pod, 'limits')) }
  },
  unspecified,
}

function charge(requests: Amounts, limits: Amounts): Record<string, string> {
  const charged: Record<string, string> = { pods: '1' }
  for (const [name, amount] of Object.entries(requests)) {
    if (computeResources.includes(name) || name.startsWith('hugepages-')) charged[name] = amount
    else if (!isExtended(name)) continue
    charged[`${requestsPrefix}${name}`] = amount
  }
  for (const name of computeResources) {
    const limit = limits[name]
    if (limit !== undefined) charged[`limits.${name}`] = limit
  }
  return charged
}

/** Resources that Kubernetes does not know itself have a domain that is not its own. */
function isExtended(name: string): boolean {
  const bare = name.startsWith(requestsPrefix) ? name.slice(requestsPrefix.length) : name
  return bare.startsWith(deviceClassPrefix) || (bare.includes('/') && !bare.includes('kubernetes.io/'))
}

/** A pod that has ended uses nothing more, nor does one that should be gone but is held by somebody. */
function isCharged(pod: KubeObject, nowMs: number): boolean {
  if (['Failed', 'Succeeded'].includes(text(struct(pod, 'status'), 'phase'))) return false
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata ?? {}
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true
  return nowMs <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}

function unspecified(hardNames: readonly string[], pod: KubeObject): string | undefined {
  const spec = struct(pod, 'spec')
  const podLevel = struct(spec, 'resources')
  const isPodLevel = ['requests', 'limits'].some((kind) => Object.keys(amountsOf(podLevel, kind)).length > 0)
  if (isPodLevel) return undefined
  const containers = [...structs(spec, 'containers'), ...structs(spec, 'initContainers')].map((container) => {
    const resources = struct(container, 'resources')
    return {
      name: text(container, 'name'),
      charged: charge(amountsOf(resources, 'requests'), amountsOf(resources, 'limits')),
    }
  })
  const missing = mustBeSpecified
    .filter((name) => hardNames.includes(name))
    .sort()
    .map((name) => ({ name, silent: containers.filter(({ charged }) => charged[name] === undefined) }))
    .filter(({ silent }) => silent.length > 0)
  if (missing.length === 0) return undefined
  const parts = missing.map(
    ({ name, silent }) => `${name} for: ${[...new Set(silent.map((one) => one.name))].sort().join(',')}`,
  )
  return `must specify ${parts.join('; ')}`
}
