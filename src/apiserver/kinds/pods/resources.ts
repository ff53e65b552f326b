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

/** `claimNames` are the names that `spec.resourceClaims` of the pod offers. */
export function checkResources(
  resources: Fields | undefined,
  claimNames: readonly string[],
  path: string,
): FieldError[] {
  const limits = quantities(resources, 'limits')
  const requests = quantities(resources, 'requests')
  const errors = [
    ...limits.flatMap(([resource, quantity]) => checkAmount(resource, quantity, `${path}.limits[${resource}]`)),
    ...requests.flatMap(([resource, quantity]) => [
      ...checkAmount(resource, quantity, `${path}.requests[${resource}]`),
      ...checkAgainstLimit(resource, quantity, new Map(limits).get(resource), path),
    ]),
  ]
  const names = [...limits, ...requests].map(([resource]) => resource)
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    errors.push(forbiddenField(path, 'HugePages require cpu or memory'))
  }
  return [...errors, ...checkClaims(resources, claimNames, `${path}.claims`)]
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

function checkClaims(resources: Fields | undefined, claimNames: readonly string[], path: string): FieldError[] {
  return structs(resources, 'claims').flatMap((claim, index) => {
    const name = text(claim, 'name')
    if (name === '') return [requiredField(`${path}[${index}]`)]
    if (claimNames.includes(name)) return []
    const offered = claimNames.length === 0 ? ' which is empty' : `: ${claimNames.toSorted().join(', ')}`
    const detail = `must be one of the names in pod.spec.resourceClaims${offered}`
    return [{ type: 'FieldValueNotFound', field: `${path}[${index}]`, badValue: name, detail } as const]
  })
}
