/** Amounts of resources: comparing them, and the checks that every map of resources gets. */
import {
  canonicalQuantity,
  isWorkableQuantity,
  MAX_QUANTITY_CHARACTERS,
  MAX_QUANTITY_EXPONENT,
} from '../../kube/codec/quantity.ts'
import { labelKeyBreaches } from '../../kube/selectors/names.ts'
import { type FieldError, invalidField } from '../../kube/status/field-error.ts'
import { goQuote } from '../../kube/status/go-text.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import { checkName, NOT_NEGATIVE } from './checks.ts'
import { type Fields, struct } from './fields.ts'

const binaryFactors: Readonly<Record<string, bigint>> = Object.fromEntries(
  ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((suffix, index) => [suffix, 1024n ** BigInt(index + 1)]),
)
const decimalPowers: Readonly<Record<string, number>> = Object.fromEntries(
  ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((suffix, index) => [suffix, (index - 3) * 3]),
)
const quantityParts = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?[0-9]+)|([numkMGTPE]?))$/
/** The finest amount that quantities distinguish. */
const nanoDigits = 9
const nanoPerMilli = 1_000_000n
const nanoPerUnit = 1_000_000_000n
/** Of a quantity that is refused. */
const shownCharacters = 40

const standardResources = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'storage',
  'requests.storage',
  'services.nodeports',
  'services.loadbalancers',
])
const countedResources = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
])
const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage'])

/**
 * The amount in billionths of a unit. A text that is no quantity, or one beyond all bounds, counts as nothing: such are
 * refused before anybody counts.
 */
export function quantityInNano(quantity: string): bigint {
  if (!isWorkableQuantity(quantity)) return 0n
  const match = quantityParts.exec(quantity)
  if (match === null) return 0n
  const [, sign, whole = '', fraction = '', binary, exponent, suffix = ''] = match
  const power =
    nanoDigits - fraction.length + (exponent === undefined ? (decimalPowers[suffix] ?? 0) : Number(exponent))
  const digits = BigInt(`0${whole}${fraction}`) * (binary === undefined ? 1n : (binaryFactors[binary] ?? 1n))
  const nano = power >= 0 ? digits * 10n ** BigInt(power) : ceilDivide(digits, 10n ** BigInt(-power))
  return sign === '-' ? -nano : nano
}

/** Throws a 400 for an amount that nobody should have to work out. */
export function checkWorkable(quantity: string): void {
  if (isWorkableQuantity(quantity)) return
  const limits = `${MAX_QUANTITY_CHARACTERS} characters, and exponents up to ${MAX_QUANTITY_EXPONENT}`
  throw badRequest(`quantities have at most ${limits}: ${goQuote(quantity.slice(0, shownCharacters))}`)
}

export function compareQuantities(left: string, right: string): number {
  const difference = quantityInNano(left) - quantityInNano(right)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Canonical, and rounded up to a thousandth: finer amounts are not kept in maps of resources. */
export function roundedQuantity(quantity: string): string {
  const nano = quantityInNano(quantity)
  if (nano % nanoPerMilli === 0n) return canonicalQuantity(quantity) ?? quantity
  return canonicalQuantity(`${ceilDivide(nano, nanoPerMilli)}m`) ?? quantity
}

/** One amount as a text; JSON may hold a plain number. */
export function quantity(parent: Fields | undefined, name: string): string | undefined {
  const value = parent?.[name]
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? `${value}` : undefined
}

/** The amounts in a map of resources. */
export function quantities(parent: Fields | undefined, name: string): [resource: string, quantity: string][] {
  const map = struct(parent, name) ?? {}
  return Object.keys(map).map((resource) => [resource, quantity(map, resource) ?? '0'])
}

export function isHugePages(resource: string): boolean {
  return resource.startsWith('hugepages-')
}

/** Whether requests may be lower than limits. */
export function isOvercommitAllowed(resource: string): boolean {
  return isNative(resource) && !isHugePages(resource)
}

function isNative(resource: string): boolean {
  return !resource.includes('/') || resource.includes('kubernetes.io/')
}

function isExtended(resource: string): boolean {
  return (
    !isNative(resource) && !resource.startsWith('requests.') && labelKeyBreaches(`requests.${resource}`).length === 0
  )
}

export function checkResourceName(resource: string, path: string): FieldError[] {
  const errors = checkName(resource, path, labelKeyBreaches)
  if (errors.length > 0 || resource.includes('/')) return errors
  const standard =
    standardResources.has(resource) || isHugePages(resource) || resource.startsWith('requests.hugepages-')
  return standard ? [] : [invalidField(path, resource, 'must be a standard resource type or fully qualified')]
}

export function checkContainerResourceName(resource: string, path: string): FieldError[] {
  const errors = checkResourceName(resource, path)
  if (!resource.includes('/')) {
    if (!containerResources.has(resource) && !isHugePages(resource)) {
      errors.push(invalidField(path, resource, 'must be a standard resource for containers'))
    }
  } else if (!isNative(resource) && !isExtended(resource)) {
    errors.push(invalidField(path, resource, "doesn't follow extended resource name standard"))
  }
  return errors
}

/** Not negative, and a whole number where things are counted. */
export function checkQuantity(resource: string, quantity: string, path: string): FieldError[] {
  const nano = quantityInNano(quantity)
  const errors = nano < 0n ? [invalidField(path, canonicalQuantity(quantity) ?? quantity, NOT_NEGATIVE)] : []
  if ((countedResources.has(resource) || isExtended(resource)) && nano % nanoPerUnit !== 0n) {
    errors.push(invalidField(path, canonicalQuantity(quantity) ?? quantity, 'must be an integer'))
  }
  return errors
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend > 0n && dividend % divisor !== 0n ? quotient + 1n : quotient
}
