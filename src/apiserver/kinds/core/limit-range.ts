/** LimitRanges. */
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkEach, checkName } from '../checks.ts'
import { type Fields, has, struct, structs, text } from '../fields.ts'
import {
  checkContainerResourceName,
  checkResourceName,
  compareQuantities,
  isOvercommitAllowed,
  quantities,
  quantityInNano,
} from '../quantities.ts'
import type { KindRules } from '../rules.ts'

const types = ['Pod', 'Container', 'PersistentVolumeClaim']
/** `lower` must not be more than `higher`; the error names one of them with a sentence about both. */
const orders = [
  { lower: 'min', higher: 'max', at: 'min', shown: 'min', lowerWord: 'min value', higherWord: 'max value' },
  {
    lower: 'min',
    higher: 'defaultRequest',
    at: 'defaultRequest',
    shown: 'defaultRequest',
    lowerWord: 'min value',
    higherWord: 'default request value',
  },
  {
    lower: 'defaultRequest',
    higher: 'max',
    at: 'defaultRequest',
    shown: 'defaultRequest',
    lowerWord: 'default request value',
    higherWord: 'max value',
  },
  {
    lower: 'defaultRequest',
    higher: 'default',
    at: 'defaultRequest',
    shown: 'defaultRequest',
    lowerWord: 'default request value',
    higherWord: 'default limit value',
  },
  { lower: 'min', higher: 'default', at: 'default', shown: 'min', lowerWord: 'min value', higherWord: 'default value' },
  { lower: 'default', higher: 'max', at: 'default', shown: 'max', lowerWord: 'default value', higherWord: 'max value' },
] as const

export const LIMIT_RANGE_RULES: KindRules = {
  allowsCreateOnUpdate: true,
  checksMetadataAgain: true,
  check(object) {
    const seen = new Set<string>()
    return checkEach(structs(struct(object, 'spec'), 'limits'), 'spec.limits', (limit, at) => {
      const type = text(limit, 'type')
      const errors = checkType(type, `${at}.type`)
      if (seen.has(type)) errors.push(duplicateField(`${at}.type`, type))
      seen.add(type)
      return [...errors, ...checkLimit(limit, type, at)]
    })
  },
}

function checkType(type: string, path: string): FieldError[] {
  const errors = checkName(type, path, labelKeyBreaches)
  if (errors.length > 0 || type.includes('/') || types.includes(type)) return errors
  return [invalidField(path, type, 'must be a standard limit type or fully qualified')]
}

function checkLimit(limit: Fields, type: string, path: string): FieldError[] {
  const checkNameOfType = type === 'Pod' || type === 'Container' ? checkContainerResourceName : checkResourceName
  const namesOf = (name: string): FieldError[] =>
    quantities(limit, name).flatMap(([resource]) => checkNameOfType(resource, `${path}.${name}[${resource}]`))
  const defaults = ['default', 'defaultRequest']
  const refused = defaults.filter((name) => quantities(limit, name).length > 0)
  return [
    ...namesOf('max'),
    ...namesOf('min'),
    ...(type === 'Pod'
      ? refused.map((name) => forbiddenField(`${path}.${name}`, "may not be specified when `type` is 'Pod'"))
      : defaults.flatMap(namesOf)),
    ...checkClaimStorage(limit, type, path),
    ...namesOf('maxLimitRequestRatio'),
    ...checkOrders(limit, path),
  ]
}

function checkClaimStorage(limit: Fields, type: string, path: string): FieldError[] {
  const bounded = has(struct(limit, 'min'), 'storage') || has(struct(limit, 'max'), 'storage')
  if (type !== 'PersistentVolumeClaim' || bounded) return []
  const detail = 'either minimum or maximum storage value is required, but neither was provided'
  return [requiredField(`${path}.limits`, detail)]
}

function checkOrders(limit: Fields, path: string): FieldError[] {
  const names = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio']
  const amounts = new Map(names.map((name) => [name, new Map(quantities(limit, name))]))
  const resources = new Set([...amounts.values()].flatMap((map) => [...map.keys()]))
  return [...resources].flatMap((resource) => {
    const amount = (name: string): string | undefined => amounts.get(name)?.get(resource)
    const errors = orders.flatMap(({ lower, higher, at, shown, lowerWord, higherWord }) => {
      const [low, high] = [amount(lower), amount(higher)]
      if (low === undefined || high === undefined || compareQuantities(low, high) <= 0) return []
      const detail = `${lowerWord} ${low} is greater than ${higherWord} ${high}`
      return [invalidField(`${path}.${at}[${resource}]`, amount(shown), detail)]
    })
    return [...errors, ...checkRatio(resource, amount, path), ...checkSameDefaults(resource, amount, path)]
  })
}

type Amount = (name: string) => string | undefined

function checkRatio(resource: string, amount: Amount, path: string): FieldError[] {
  const ratio = amount('maxLimitRequestRatio')
  if (ratio === undefined) return []
  const at = `${path}.maxLimitRequestRatio[${resource}]`
  const errors = compareQuantities(ratio, '1') < 0 ? [invalidField(at, ratio, `ratio ${ratio} is less than 1`)] : []
  const [min, max] = [amount('min'), amount('max')]
  if (min === undefined || max === undefined) return errors
  const limit = Number(quantityInNano(max)) / Number(quantityInNano(min))
  if (Number(quantityInNano(ratio)) / 1e9 > limit) {
    errors.push(invalidField(at, ratio, `ratio ${ratio} is greater than max/min = ${limit.toFixed(6)}`))
  }
  return errors
}

function checkSameDefaults(resource: string, amount: Amount, path: string): FieldError[] {
  const [limit, request] = [amount('default'), amount('defaultRequest')]
  if (isOvercommitAllowed(resource) || limit === undefined || request === undefined) return []
  if (compareQuantities(limit, request) === 0) return []
  const detail = `default value ${limit} must equal to defaultRequest value ${request} in ${resource}`
  return [invalidField(`${path}.defaultRequest[${resource}]`, request, detail)]
}
