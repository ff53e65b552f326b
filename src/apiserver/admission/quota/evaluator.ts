/** What one object uses of a quota, by resource. Resources without a rule of their own are only counted. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import type { AdmissionRequest } from '../../core/admission.ts'
import type { Reading } from '../lookup.ts'
import { Total, type Totals } from '../totals.ts'
import { NO_SCOPES, type ScopeValues } from './scopes.ts'

/** What is to know of an object to count it. */
export interface Counted {
  readonly usage: Totals
  readonly scopes: ScopeValues
  /** From some time on the object uses no more than this, although it is still there. */
  readonly later?: { readonly afterMs: number; readonly usage: Totals }
}

export interface QuotaEvaluator {
  readonly resource: GroupResource
  /** Whether the request can change what is used. */
  handles(request: AdmissionRequest): boolean
  /** Whether a name in `spec.hard` is about this resource. */
  covers(hardName: string): boolean
  /** What every single object uses, where they are only counted: then none of them has to be read. */
  readonly each?: Totals
  /** The same value for all objects and for all time: what it makes of them is kept. */
  readonly counting: Reading<Counted>
  /** What the object should say and does not: who is silent, by the name in `spec.hard` that needs it. */
  silent?(object: KubeObject): ReadonlyMap<string, readonly string[]>
}

/** Objects with more names are read again whenever they are counted, so that they take no memory. */
const MAX_KEPT_USAGE_NAMES = 64

export function counting(count: (object: KubeObject) => Counted): Reading<Counted> {
  return { read: count, isKept: ({ usage }) => usage.size <= MAX_KEPT_USAGE_NAMES }
}

export function usageAt({ usage, later }: Counted, nowMs: number): Totals {
  return later !== undefined && nowMs > later.afterMs ? later.usage : usage
}

export const ONE = Total.of('1')

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
  const each: Totals = new Map(names.map((name) => [name, ONE]))
  return {
    resource,
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
    covers: (hardName) => names.includes(hardName),
    each,
    counting: counting(() => ({ usage: each, scopes: NO_SCOPES })),
  }
}
