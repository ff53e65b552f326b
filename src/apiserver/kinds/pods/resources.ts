/** Requests and limits of containers. */
import { canonicalQuantity } from '../../../kube/codec/quantity.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { type Fields, structs, text } from '../fields.ts'
import {
  checkContainerResourceName,
  checkQuantity,
  compareQuantities,
  isHugePages,
  isOvercommitAllowed,
  quantities,
  quantityInNano,
} from '../quantities.ts'

/** The names that `spec.resourceClaims` of a pod offers to its containers. */
export class OfferedClaims {
  readonly #names: ReadonlySet<string>
  #missing: string | undefined

  constructor(names: readonly string[]) {
    this.#names = new Set(names)
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** What is said of a name that is not offered. Put together once: every container may ask for many. */
  get missing(): string {
    const names = this.#names.size === 0 ? ' which is empty' : `: ${[...this.#names].toSorted().join(', ')}`
    this.#missing ??= `must be one of the names in pod.spec.resourceClaims${names}`
    return this.#missing
  }
}

export const NO_CLAIMS = new OfferedClaims([])

export function checkResources(resources: Fields | undefined, offered: OfferedClaims, path: string): FieldError[] {
  const limits = quantities(resources, 'limits')
  const limitOf = new Map(limits)
  const requests = quantities(resources, 'requests')
  const errors = [
    ...limits.flatMap(([resource, quantity]) => checkAmount(resource, quantity, `${path}.limits[${resource}]`)),
    ...requests.flatMap(([resource, quantity]) => [
      ...checkAmount(resource, quantity, `${path}.requests[${resource}]`),
      ...checkAgainstLimit(resource, quantity, limitOf.get(resource), path),
    ]),
  ]
  const names = [...limits, ...requests].map(([resource]) => resource)
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    errors.push(forbiddenField(path, 'HugePages require cpu or memory'))
  }
  return [...errors, ...checkClaims(resources, offered, `${path}.claims`)]
}

function checkAmount(resource: string, quantity: string, path: string): FieldError[] {
  const errors = [...checkContainerResourceName(resource, path), ...checkQuantity(resource, quantity, path)]
  if (isHugePages(resource)) {
    const pageNano = quantityInNano(resource.slice('hugepages-'.length))
    if (pageNano > 0n && quantityInNano(quantity) % pageNano !== 0n) {
      const shown = canonicalQuantity(quantity) ?? quantity
      errors.push(invalidField(path, shown, `${shown} is not positive integer multiple of ${resource}`))
    }
  }
  return errors
}

function checkAgainstLimit(resource: string, request: string, limit: string | undefined, path: string): FieldError[] {
  if (limit === undefined) {
    return isOvercommitAllowed(resource)
      ? []
      : [requiredField(`${path}.limits`, 'Limit must be set for non overcommitable resources')]
  }
  const order = compareQuantities(request, limit)
  const [shown, shownLimit] = [canonicalQuantity(request) ?? request, canonicalQuantity(limit) ?? limit]
  if (order !== 0 && !isOvercommitAllowed(resource)) {
    return [invalidField(`${path}.requests`, shown, `must be equal to ${resource} limit of ${shownLimit}`)]
  }
  return order > 0
    ? [invalidField(`${path}.requests`, shown, `must be less than or equal to ${resource} limit of ${shownLimit}`)]
    : []
}

function checkClaims(resources: Fields | undefined, offered: OfferedClaims, path: string): FieldError[] {
  return structs(resources, 'claims').flatMap((claim, index) => {
    const name = text(claim, 'name')
    if (name === '') return [requiredField(`${path}[${index}]`)]
    if (offered.has(name)) return []
    return [
      { type: 'FieldValueNotFound', field: `${path}[${index}]`, badValue: name, detail: offered.missing } as const,
    ]
  })
}
