/** The metrics that an autoscaler follows: one source each, with one target. */
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkRequired, checkRequiredName } from '../checks.ts'
import { type Fields, has, integer, struct, text } from '../fields.ts'
import { dnsLabel, pathSegment } from '../names.ts'
import { checkContainerResourceName, quantity, quantityInNano } from '../quantities.ts'

type SourceCheck = (source: Fields, path: string) => FieldError[]

const sourceChecks: Readonly<Record<string, SourceCheck>> = {
  object: (source, path) => [
    ...checkReference(struct(source, 'describedObject') ?? {}, `${path}.describedObject`),
    ...checkIdentifier(source, path),
    ...checkTarget(source, path),
    ...requireOne(source, ['value', 'averageValue'], path, 'must set either a target value or averageValue'),
  ],
  external: (source, path) => [
    ...checkIdentifier(source, path),
    ...checkTarget(source, path),
    ...requireOne(
      source,
      ['value', 'averageValue'],
      path,
      'must set either a target value for metric or a per-pod target',
    ),
    ...forbidBoth(source, 'averageValue', 'value', path, 'a target value for metric and a per-pod target'),
  ],
  pods: (source, path) => [
    ...checkIdentifier(source, path),
    ...checkTarget(source, path),
    ...requireOne(source, ['averageValue'], path, 'must specify a positive target averageValue'),
  ],
  resource: (source, path) => [
    ...checkRequired(text(source, 'name'), `${path}.name`, 'must specify a resource name'),
    ...checkUsageTarget(source, path),
  ],
  containerResource: (source, path) => [
    ...(text(source, 'name') === ''
      ? [requiredField(`${path}.name`, 'must specify a resource name')]
      : checkContainerResourceName(text(source, 'name'), `${path}.name`)),
    ...checkRequiredName(text(source, 'container'), `${path}.container`, dnsLabel, 'must specify a container'),
    ...checkUsageTarget(source, path),
  ],
}
const types = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource']

export function checkMetric(metric: Fields, path: string): FieldError[] {
  const type = text(metric, 'type')
  const present = Object.keys(sourceChecks).filter((name) => has(metric, name))
  const expected = `${type.slice(0, 1).toLowerCase()}${type.slice(1)}`
  const unsupported = types.includes(type) ? [] : [notSupportedField(`${path}.type`, type, types)]
  const errors = type === '' ? [requiredField(`${path}.type`, 'must specify a metric source type')] : []
  errors.push(...unsupported)
  const [first] = present
  if (first !== undefined)
    errors.push(...(sourceChecks[first]?.(struct(metric, first) ?? {}, `${path}.${first}`) ?? []))
  if (unsupported.length > 0) errors.push(...unsupported)
  else if (!present.includes(expected)) {
    errors.push(requiredField(`${path}.${expected}`, 'must populate information for the given metric source'))
  }
  const others = present.length === 1 ? [] : present.filter((name) => name !== expected)
  return [
    ...errors,
    ...others.map((name) => forbiddenField(`${path}.${name}`, 'must populate the given metric source only')),
  ]
}

/** An object by kind and name, as the autoscaler scales or watches it. */
export function checkReference(reference: Fields, path: string): FieldError[] {
  const apiVersion = text(reference, 'apiVersion')
  const detail = `unexpected GroupVersion string: ${apiVersion}`
  const malformed = apiVersion.split('/').length > 2
  return [
    ...checkReferenceNames(reference, path),
    ...(malformed ? [invalidField(`${path}.apiVersion`, apiVersion, detail)] : []),
  ]
}

export function checkReferenceNames(reference: Fields, path: string): FieldError[] {
  return ['kind', 'name'].flatMap((name) => checkRequiredName(text(reference, name), `${path}.${name}`, pathSegment))
}

function checkIdentifier(source: Fields, path: string): FieldError[] {
  const name = text(struct(source, 'metric'), 'name')
  return checkRequiredName(name, `${path}.metric.name`, pathSegment, 'must specify a metric name')
}

function checkUsageTarget(source: Fields, path: string): FieldError[] {
  const detail = 'must set either a target raw value or a target utilization'
  return [
    ...checkTarget(source, path),
    ...requireOne(source, ['averageUtilization', 'averageValue'], path, detail),
    ...forbidBoth(source, 'averageUtilization', 'averageValue', path, 'a target raw value and a target utilization'),
  ]
}

/** The first of the names stands for the missing one, except where the last one does. */
function requireOne(source: Fields, names: readonly string[], path: string, detail: string): FieldError[] {
  const target = struct(source, 'target')
  if (names.some((name) => has(target, name))) return []
  const shown = names.includes('averageUtilization') ? 'averageUtilization' : 'averageValue'
  return [requiredField(`${path}.target.${shown}`, detail)]
}

function forbidBoth(source: Fields, one: string, other: string, path: string, what: string): FieldError[] {
  const target = struct(source, 'target')
  if (!has(target, one) || !has(target, other)) return []
  return [forbiddenField(`${path}.target.${other}`, `may not set both ${what}`)]
}

function checkTarget(source: Fields, path: string): FieldError[] {
  const target = struct(source, 'target')
  const [type, at] = [text(target, 'type'), `${path}.target`]
  const errors = type === '' ? [requiredField(`${at}.type`, 'must specify a metric target type')] : []
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    errors.push(invalidField(`${at}.type`, type, 'must be either Utilization, Value, or AverageValue'))
  }
  for (const name of ['value', 'averageValue']) {
    const amount = quantity(target, name)
    if (amount !== undefined && quantityInNano(amount) <= 0n) {
      errors.push(invalidField(`${at}.${name}`, amount, 'must be positive'))
    }
  }
  const utilization = integer(target, 'averageUtilization')
  if (utilization !== undefined && utilization < 1) {
    errors.push(invalidField(`${at}.averageUtilization`, utilization, 'must be greater than 0'))
  }
  return errors
}
