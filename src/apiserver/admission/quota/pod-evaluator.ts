/** Pods are counted while they run, and with them what they ask for. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type Fields, has, struct, structs, text } from '../../kinds/fields.ts'
import { PODS } from '../lookup.ts'
import { chargedPodTotals } from '../pod-amounts.ts'
import { type Total, type Totals, totalsOf } from '../totals.ts'
import { type Counted, counting, countName, ONE, type QuotaEvaluator } from './evaluator.ts'
import { isTerminating, podScopes } from './scopes.ts'

const requestsPrefix = 'requests.'
const limitsPrefix = 'limits.'
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
  counting: counting((pod) => ({ ...usageOf(pod), scopes: podScopes(pod) })),
  silent,
}

const presence: Totals = new Map([[countName(PODS), ONE]])

/** A pod that has ended uses nothing more, nor does one that should be gone but is held by somebody. */
function usageOf(pod: KubeObject): Pick<Counted, 'usage' | 'later'> {
  if (['Failed', 'Succeeded'].includes(text(struct(pod, 'status'), 'phase'))) return { usage: presence }
  const usage = charge(chargedPodTotals(pod, 'requests'), chargedPodTotals(pod, 'limits', computeResources))
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata ?? {}
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return { usage }
  const afterMs = Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
  return { usage, later: { afterMs, usage: presence } }
}

function charge(requests: Totals, limits: Totals): Map<string, Total> {
  const charged = new Map([...presence, ['pods', ONE]])
  for (const [name, total] of requests) {
    if (computeResources.includes(name) || name.startsWith('hugepages-')) charged.set(name, total)
    else if (!isExtended(name)) continue
    charged.set(`${requestsPrefix}${name}`, total)
  }
  for (const name of computeResources) {
    const limit = limits.get(name)
    if (limit !== undefined) charged.set(`${limitsPrefix}${name}`, limit)
  }
  return charged
}

/** Resources that Kubernetes does not know itself have a domain that is not its own. */
function isExtended(name: string): boolean {
  const bare = name.startsWith(requestsPrefix) ? name.slice(requestsPrefix.length) : name
  return bare.startsWith(deviceClassPrefix) || (bare.includes('/') && !bare.includes('kubernetes.io/'))
}

function silent(pod: KubeObject): ReadonlyMap<string, readonly string[]> {
  const spec = struct(pod, 'spec')
  const podLevel = struct(spec, 'resources')
  const isPodLevel = ['requests', 'limits'].some((kind) => totalsOf(podLevel, kind).size > 0)
  const silentOnes = new Map<string, string[]>()
  if (isPodLevel) return silentOnes
  for (const container of [...structs(spec, 'containers'), ...structs(spec, 'initContainers')]) {
    const resources = struct(container, 'resources')
    for (const name of mustBeSpecified.filter((each) => !isSpecified(resources, each))) {
      const others = silentOnes.get(name)
      if (others === undefined) silentOnes.set(name, [text(container, 'name')])
      else others.push(text(container, 'name'))
    }
  }
  return silentOnes
}

function isSpecified(resources: Fields | undefined, hardName: string): boolean {
  const kind = hardName.startsWith(limitsPrefix) ? 'limits' : 'requests'
  const resource = hardName.replace(limitsPrefix, '').replace(requestsPrefix, '')
  return has(struct(resources, kind), resource)
}
