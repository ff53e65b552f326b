/** ResourceQuotas. */
import { type FieldError, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { IMMUTABLE } from '../checks.ts'
import { type Fields, struct, structs, text, texts } from '../fields.ts'
import { checkQuantity, checkResourceName, isHugePages, quantities } from '../quantities.ts'
import type { KindRules } from '../rules.ts'

const podScopes = ['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort']
const scopes = new Set([...podScopes, 'PriorityClass', 'VolumeAttributesClass', 'CrossNamespacePodAffinity'])
const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
]
const quotaResources = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
])
const computeResource = /^(?:pods|(?:requests\.|limits\.)?(?:cpu|memory|ephemeral-storage))$/

export const RESOURCE_QUOTA_RULES: KindRules = {
  check: checkQuotaSpec,
  checkUpdate(quota, old) {
    const [now, before] = [quota, old].map((object) => new Set(texts(struct(object, 'spec'), 'scopes')))
    const same = now?.size === before?.size && [...(now ?? [])].every((scope) => before?.has(scope))
    const changed = invalidField('spec.scopes', struct(quota, 'spec')?.['scopes'] ?? null, IMMUTABLE)
    return [...checkQuotaSpec(quota), ...(same ? [] : [changed])]
  },
  checkStatusUpdate: (quota) =>
    ['hard', 'used'].flatMap((name) => checkAmounts(struct(quota, 'status'), name, `status.${name}`)),
}

function checkQuotaSpec(quota: Fields): FieldError[] {
  const spec = struct(quota, 'spec') ?? {}
  return [
    ...checkAmounts(spec, 'hard', 'spec.hard'),
    ...checkScopes(spec, 'spec.scopes'),
    ...checkScopeSelector(spec, 'spec.scopeSelector.matchExpressions'),
  ]
}

function checkAmounts(parent: Fields | undefined, name: string, path: string): FieldError[] {
  return quantities(parent, name).flatMap(([resource, quantity]) => {
    const at = `${path}[${resource}]`
    const errors = checkResourceName(resource, at)
    const known = resource.includes('/') || quotaResources.has(resource) || isQuotaHugePages(resource)
    if (!known) errors.push(invalidField(at, resource, 'must be a standard resource for quota'))
    return [...errors, ...checkQuantity(resource, quantity, at)]
  })
}

function isQuotaHugePages(resource: string): boolean {
  return isHugePages(resource) || resource.startsWith('requests.hugepages-')
}

function checkScopes(spec: Fields, path: string): FieldError[] {
  const listed = texts(spec, 'scopes')
  const misfitsOf = misfits(spec)
  return [
    ...listed.flatMap((scope) => [
      ...(scopes.has(scope) ? [] : [invalidField(path, listed, 'unsupported scope')]),
      ...misfitsOf(scope).map(() => invalidField(path, listed, 'unsupported scope applied to resource')),
    ]),
    ...conflicts(listed, listed, path),
  ]
}

/** The resources that a scope cannot bind. Worked out once for each scope: both lists may be long. */
function misfits(spec: Fields): (scope: string) => readonly string[] {
  const bound = quantities(spec, 'hard')
    .map(([resource]) => resource)
    .filter((resource) => quotaResources.has(resource))
  return (scope) => (scopes.has(scope) ? bound.filter((resource) => !fits(scope, resource)) : [])
}

/** Scopes of pods bind pods and what pods consume; best-effort pods consume nothing that could be counted. */
function fits(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods'
  if (scope === 'VolumeAttributesClass') return ['persistentvolumeclaims', 'requests.storage'].includes(resource)
  return !scopes.has(scope) || computeResource.test(resource)
}

function conflicts(listed: readonly string[], shown: readonly string[], path: string): FieldError[] {
  return opposites
    .filter((pair) => pair.every((scope) => listed.includes(scope)))
    .map(() => invalidField(path, shown.length === 0 ? null : shown, 'conflicting scopes'))
}

function checkScopeSelector(spec: Fields, path: string): FieldError[] {
  const requirements = structs(struct(spec, 'scopeSelector'), 'matchExpressions')
  const errors = requirements.flatMap((requirement) => {
    const [scope, operator] = [text(requirement, 'scopeName'), text(requirement, 'operator')]
    const mustExist = podScopes.includes(scope) || scope === 'CrossNamespacePodAffinity'
    const detail =
      "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
    return [
      ...(scopes.has(scope) ? [] : [invalidField(`${path}.scopeName`, scope, 'unsupported scope')]),
      ...(mustExist && operator !== 'Exists' ? [invalidField(`${path}.operator`, operator, detail)] : []),
      ...checkOperator(operator, texts(requirement, 'values'), path),
    ]
  })
  const named = requirements.map((requirement) => text(requirement, 'scopeName'))
  return [...errors, ...conflicts(named, texts(spec, 'scopes'), path)]
}

function checkOperator(operator: string, values: readonly string[], path: string): FieldError[] {
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
    return values.length === 0 ? [requiredField(`${path}.values`, detail)] : []
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
    return values.length > 0 ? [invalidField(`${path}.values`, values, detail)] : []
  }
  return [invalidField(`${path}.operator`, operator, 'not a valid selector operator')]
}
