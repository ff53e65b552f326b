/** What OpenAPI says about types beyond what the tables hold. */
import { presentFields } from '../../kube/present-fields.ts'
import { type MessageType, messageType } from '../../kube/schema/schema.ts'
import type { Schema, Union } from './openapi.ts'

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const extensions = 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions'

/** Types that have one owner as a whole: nobody applies single fields of them. */
const atomicTypes = new Set([
  ...['v1', 'v1alpha1', 'v1beta1'].flatMap((version) =>
    ['MatchResources', 'NamedRuleWithOperations', 'ParamKind', 'ParamRef'].map(
      (name) => `k8s.io.api.admissionregistration.${version}.${name}`,
    ),
  ),
  'k8s.io.api.admissionregistration.v1.Variable',
  'k8s.io.api.admissionregistration.v1beta1.Variable',
  'k8s.io.api.autoscaling.v1.CrossVersionObjectReference',
  ...[
    'ConfigMapKeySelector',
    'EndpointAddress',
    'EndpointPort',
    'FileKeySelector',
    'LocalObjectReference',
    'NodeSelector',
    'NodeSelectorTerm',
    'ObjectFieldSelector',
    'ObjectReference',
    'ResourceFieldSelector',
    'ScopeSelector',
    'SecretKeySelector',
    'SecretReference',
    'TopologySelectorTerm',
    'TypedLocalObjectReference',
  ].map((name) => `k8s.io.api.core.v1.${name}`),
  'k8s.io.api.discovery.v1.EndpointPort',
  'k8s.io.api.networking.v1.ServiceBackendPort',
  'k8s.io.api.rbac.v1.RoleRef',
  'k8s.io.api.rbac.v1.Subject',
  `${meta}.LabelSelector`,
  `${meta}.OwnerReference`,
])

const unions: Readonly<Record<string, Union>> = {
  'k8s.io.api.core.v1.AppArmorProfile': byType('type', ['localhostProfile']),
  'k8s.io.api.core.v1.PodSchedulingGroup': byType(undefined, ['podGroupName']),
  'k8s.io.api.core.v1.SeccompProfile': byType('type', ['localhostProfile']),
  'k8s.io.api.flowcontrol.v1.LimitResponse': byType('type', ['queuing']),
  'k8s.io.api.flowcontrol.v1.PriorityLevelConfigurationSpec': byType('type', ['exempt', 'limited']),
  'k8s.io.api.flowcontrol.v1.Subject': byType('kind', ['group', 'serviceAccount', 'user']),
  'k8s.io.api.scheduling.v1alpha2.PodGroupSchedulingPolicy': byType(undefined, ['basic', 'gang']),
  'k8s.io.api.scheduling.v1alpha2.PodGroupTemplateReference': byType(undefined, ['workload']),
}

/** Defaults that Kubernetes writes as the name of a constant; the tables hold literal ones only. */
const constantDefaults: Readonly<Record<string, string>> = {
  'k8s.io.api.core.v1.AzureDiskVolumeSource.cachingMode': 'ReadWrite',
  'k8s.io.api.core.v1.AzureDiskVolumeSource.kind': 'Shared',
}

const anything: Schema = { description: 'Any JSON value.' }
const object: Schema = { description: 'Any JSON object.', type: 'object' }

/** Types whose JSON form is not made of their fields. */
const specialTypes: Readonly<Record<string, Schema>> = {
  'k8s.io.apimachinery.pkg.api.resource.Quantity': {
    description: 'An amount such as 500m, 2, 1.5Gi or 1e3.',
    oneOf: [{ type: 'string' }, { type: 'number' }],
  },
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': {
    description: 'A whole number, or a string such as a name or a percentage.',
    format: 'int-or-string',
    oneOf: [{ type: 'integer' }, { type: 'string' }],
  },
  'k8s.io.apimachinery.pkg.runtime.RawExtension': object,
  [`${meta}.Time`]: { description: 'A time such as 2006-01-02T15:04:05Z.', type: 'string', format: 'date-time' },
  [`${meta}.MicroTime`]: {
    description: 'A time such as 2006-01-02T15:04:05.000000Z.',
    type: 'string',
    format: 'date-time',
  },
  [`${meta}.Duration`]: { description: 'A duration such as 1h30m or 10s.', type: 'string' },
  [`${meta}.FieldsV1`]: { description: 'A set of fields in the form that managedFields uses.', type: 'object' },
  [`${meta}.Patch`]: { description: 'A patch in the form that the media type names.', type: 'object' },
  ...Object.fromEntries(
    ['v1', 'v1beta1'].flatMap((version) => [
      [`${extensions}.${version}.JSON`, anything],
      [`${extensions}.${version}.JSONSchemaPropsOrArray`, { description: 'A schema or a list of schemas.' }],
      [`${extensions}.${version}.JSONSchemaPropsOrBool`, { description: 'A schema or a boolean.' }],
      [`${extensions}.${version}.JSONSchemaPropsOrStringArray`, { description: 'A schema or a list of strings.' }],
    ]),
  ),
}

export function isAtomicType(messageName: string): boolean {
  return atomicTypes.has(messageName)
}

export function unionsOf(messageName: string): readonly Union[] | undefined {
  const union = Object.hasOwn(unions, messageName) ? unions[messageName] : undefined
  return union && [union]
}

export function constantDefault(messageName: string, jsonName: string): string | undefined {
  return constantDefaults[`${messageName}.${jsonName}`]
}

export function specialSchema(messageName: string): Schema | undefined {
  return Object.hasOwn(specialTypes, messageName) ? specialTypes[messageName] : undefined
}

export const PATCH_TYPE = `${meta}.Patch`

/** Patch has no message: its bytes are whatever the media type says. */
export function typeOf(messageName: string): MessageType {
  return messageName === PATCH_TYPE ? { fullName: PATCH_TYPE, form: 'special', fields: [] } : messageType(messageName)
}

function byType(discriminator: string | undefined, fields: readonly string[]): Union {
  const byGoName = Object.fromEntries(fields.map((field) => [field, field.charAt(0).toUpperCase() + field.slice(1)]))
  return presentFields({ discriminator, 'fields-to-discriminateBy': byGoName })
}
