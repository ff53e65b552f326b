/** Environment variables of containers, and the references to fields of the pod that they share with volumes. */
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import { type FieldError, invalidField, notSupportedField, requiredField } from '../../../kube/status/field-error.ts'
import { checkEach, checkName, checkRequiredName } from '../checks.ts'
import { type Fields, struct, structs, text } from '../fields.ts'
import { asPrefix, configKey, dnsSubdomain, environmentName } from '../names.ts'

const environmentFieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]
/** What a reference may name at all, before the place where it stands is asked. */
const knownFieldPaths = new Set([
  ...environmentFieldPaths,
  'metadata.annotations',
  'metadata.labels',
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
])
/** Maps, of which a reference may take one entry. */
const keyedFieldPaths = new Set(['metadata.annotations', 'metadata.labels'])
const resourceFieldPaths = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]
const sizeDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']
const divisorsByResource: Readonly<Record<string, { name: string; divisors: readonly string[] }>> = {
  cpu: { name: 'cpu', divisors: ['1m', '1'] },
  memory: { name: 'memory', divisors: sizeDivisors },
  'ephemeral-storage': { name: 'local ephemeral storage', divisors: sizeDivisors },
}

export function checkEnvironment(container: Fields, path: string): FieldError[] {
  return [
    ...checkEach(structs(container, 'env'), `${path}.env`, (variable, at) => [
      ...checkRequiredName(text(variable, 'name'), `${at}.name`, environmentName),
      ...checkValueFrom(variable, `${at}.valueFrom`),
    ]),
    ...checkEach(structs(container, 'envFrom'), `${path}.envFrom`, (source, at) =>
      checkEnvironmentSource(source, at, `${path}.envFrom`),
    ),
  ]
}

function checkValueFrom(variable: Fields, path: string): FieldError[] {
  const source = struct(variable, 'valueFrom')
  if (source === undefined) return []
  const fieldRef = struct(source, 'fieldRef')
  const resourceRef = struct(source, 'resourceFieldRef')
  const keyRefs = ['configMapKeyRef', 'secretKeyRef'].filter((name) => struct(source, name) !== undefined)
  const count =
    keyRefs.length + [fieldRef, resourceRef, struct(source, 'fileKeyRef')].filter((ref) => ref !== undefined).length
  return [
    ...(fieldRef === undefined ? [] : checkFieldRef(fieldRef, environmentFieldPaths, `${path}.fieldRef`)),
    ...(resourceRef === undefined ? [] : checkResourceRef(resourceRef, false, `${path}.resourceFieldRef`)),
    ...keyRefs.flatMap((name) => checkKeyRef(struct(source, name) ?? {}, `${path}.${name}`)),
    ...checkSourceCount(count, text(variable, 'value'), path),
  ]
}

function checkSourceCount(count: number, value: string, path: string): FieldError[] {
  if (count === 0) {
    const sources = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
    return [invalidField(path, '', `must specify one of: ${sources}`)]
  }
  if (value !== '') return [invalidField(path, '', 'may not be specified when `value` is not empty')]
  return count > 1 ? [invalidField(path, '', 'may not have more than one field specified at a time')] : []
}

function checkKeyRef(reference: Fields, path: string): FieldError[] {
  return [
    ...checkName(text(reference, 'name'), `${path}.name`, dnsSubdomain),
    ...checkRequiredName(text(reference, 'key'), `${path}.key`, configKey),
  ]
}

function checkEnvironmentSource(source: Fields, path: string, listPath: string): FieldError[] {
  const prefix = text(source, 'prefix')
  const references = ['configMapRef', 'secretRef'].filter((name) => struct(source, name) !== undefined)
  const errors = prefix === '' ? [] : checkName(prefix, `${path}.prefix`, environmentName)
  for (const name of references) {
    errors.push(
      ...checkRequiredName(text(struct(source, name), 'name'), `${path}.${name}.name`, asPrefix(dnsSubdomain)),
    )
  }
  if (references.length === 0) {
    errors.push(invalidField(listPath, '', 'must specify one of: `configMapRef` or `secretRef`'))
  } else if (references.length > 1) {
    errors.push(invalidField(listPath, '', 'may not have more than one field specified at a time'))
  }
  return errors
}

/** A reference to a field of the pod; `supported` are the paths that its place allows, labels and annotations apart. */
export function checkFieldRef(reference: Fields, supported: readonly string[], path: string): FieldError[] {
  const fieldPath = text(reference, 'fieldPath')
  if (text(reference, 'apiVersion') === '') return [requiredField(`${path}.apiVersion`)]
  if (fieldPath === '') return [requiredField(`${path}.fieldPath`)]
  const [, base = fieldPath, key] = /^(.*)\['(.*)'\]$/.exec(fieldPath) ?? []
  const breach = fieldPathBreach(text(reference, 'apiVersion'), fieldPath, base, key !== undefined)
  if (breach !== undefined) {
    return [invalidField(`${path}.fieldPath`, fieldPath, `error converting fieldPath: ${breach}`)]
  }
  if (key === undefined) {
    return supported.includes(base) ? [] : [notSupportedField(`${path}.fieldPath`, base, supported)]
  }
  return checkName(base === 'metadata.annotations' ? key.toLowerCase() : key, path, labelKeyBreaches)
}

function fieldPathBreach(version: string, fieldPath: string, base: string, hasKey: boolean): string | undefined {
  if (version !== 'v1') return `unsupported pod version: ${version}`
  if (hasKey) return keyedFieldPaths.has(base) ? undefined : `field label does not support subscript: ${fieldPath}`
  return knownFieldPaths.has(base) ? undefined : `field label not supported: ${fieldPath}`
}

export function checkResourceRef(reference: Fields, needsContainer: boolean, path: string): FieldError[] {
  const resource = text(reference, 'resource')
  const errors = checkReferredResource(reference, resource, needsContainer, path)
  const divisor = text(reference, 'divisor')
  const known = divisorsByResource[resource.replace(/^(?:limits|requests)\./, '')]
  if (known !== undefined && divisor !== '' && divisor !== '0' && !known.divisors.includes(divisor)) {
    const listed = known.divisors.length === 2 ? known.divisors.join(' and ') : known.divisors.join(', ')
    const detail = `only divisor's values ${listed} are supported with the ${known.name} resource`
    errors.push(invalidField(`${path}.divisor`, resource, detail))
  }
  return errors
}

function checkReferredResource(
  reference: Fields,
  resource: string,
  needsContainer: boolean,
  path: string,
): FieldError[] {
  if (needsContainer && text(reference, 'containerName') === '') return [requiredField(`${path}.containerName`)]
  if (resource === '') return [requiredField(`${path}.resource`)]
  const known = resourceFieldPaths.includes(resource) || /^(?:limits|requests)\.hugepages-/.test(resource)
  return known ? [] : [notSupportedField(`${path}.resource`, resource, resourceFieldPaths)]
}
