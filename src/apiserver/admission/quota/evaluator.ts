/** What one object uses of a quota, by resource. Resources without a rule of their own are only counted. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import type { AdmissionRequest } from '../../core/admission.ts'
import type { Amounts } from '../amounts.ts'
import type { ScopeRequirement } from './scopes.ts'

export interface QuotaEvaluator {
  readonly resource: GroupResource
  /** Whether the request can change what is used. */
  handles(request: AdmissionRequest): boolean
  /** Whether a name in `spec.hard` is about this resource. */
  covers(hardName: string): boolean
  matchesScope(requirement: ScopeRequirement, object: KubeObject): boolean
  usage(object: KubeObject, nowMs: number): Amounts
  /** What the object must say so that it can be counted against these names; undefined when it says everything. */
  unspecified?(hardNames: readonly string[], object: KubeObject): string | undefined
}

/** Shorter names from before every resource could be counted. */
const aliases = new Set(['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets'])

/** `count/deployments.apps`; without a dot for the core group. */
export function countName({ group, resource }: GroupResource): string {
  return `count/${resource}${group === '' ? '' : `.${group}`}`
}

/** The resource of a `count/...` name or of an alias. */
export function countedResource(hardName: string): GroupResource | undefined {
  if (aliases.has(hardName)) return { group: '', resource: hardName }
  if (!hardName.startsWith('count/')) return undefined
  const [resource = '', ...group] = hardName.slice('count/'.length).split('.')
  return { group: group.join('.'), resource }
}

export function countEvaluator(resource: GroupResource): QuotaEvaluator {
  const hasAlias = resource.group === '' && aliases.has(resource.resource)
  const names = [countName(resource), ...(hasAlias ? [resource.resource] : [])]
  return {
    resource,
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
    covers: (hardName) => names.includes(hardName),
    matchesScope: () => false,
    usage: () => Object.fromEntries(names.map((name) => [name, '1'])),
  }
}
