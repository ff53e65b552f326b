/** Nodes. */
import { labelKeyBreaches, labelValueBreaches } from '../../../kube/selectors/names.ts'
import { duplicateField, type FieldError, forbiddenField, invalidField } from '../../../kube/status/field-error.ts'
import { checkCidr, ipFamily } from '../addresses.ts'
import { checkEach, checkName } from '../checks.ts'
import { sameValue } from '../equality.ts'
import { type Fields, struct, structs, text, texts } from '../fields.ts'
import { checkTaintEffect } from '../pods/tolerations.ts'
import { checkQuantity, quantities } from '../quantities.ts'
import type { KindRules } from '../rules.ts'

export const NODE_RULES: KindRules = {
  keepsStatusOnCreate: true,
  checksMetadataAgain: true,
  check: checkNode,
  checkUpdate: (node, old) => [...checkNode(node), ...checkNodeUpdate(node, old)],
  checkStatusUpdate: checkNodeUpdate,
}

function checkNode(node: Fields): FieldError[] {
  return [...checkTaints(node), ...checkAmounts(node), ...checkPodCidrs(node)]
}

/** The API server names `metadata` here, though taints stand in the spec. */
function checkTaints(node: Fields): FieldError[] {
  const seen = new Set<string>()
  return checkEach(structs(struct(node, 'spec'), 'taints'), 'metadata.taints', (taint, at) => {
    const [key, value, effect] = [text(taint, 'key'), text(taint, 'value'), text(taint, 'effect')]
    const errors = checkName(key, `${at}.key`, labelKeyBreaches)
    const breaches = labelValueBreaches(value)
    if (breaches.length > 0) errors.push(invalidField(`${at}.value`, value, breaches.join(';')))
    errors.push(...checkTaintEffect(effect, `${at}.effect`))
    const pair = `${effect}/${key}`
    if (seen.has(pair)) {
      const shown = { Key: key, Value: value, Effect: effect, TimeAdded: taint['timeAdded'] ?? null }
      errors.push({ ...duplicateField(at, shown), detail: 'taints must be unique by key and effect pair' })
    }
    seen.add(pair)
    return errors
  })
}

function checkAmounts(node: Fields): FieldError[] {
  const status = struct(node, 'status')
  return ['capacity', 'allocatable'].flatMap((name) =>
    quantities(status, name).flatMap(([resource, quantity]) =>
      checkQuantity(resource, quantity, `status.${name}.${resource}`),
    ),
  )
}

function checkPodCidrs(node: Fields): FieldError[] {
  const ranges = texts(struct(node, 'spec'), 'podCIDRs')
  const errors = checkEach(ranges, 'spec.podCIDRs', checkCidr)
  const families = new Set(ranges.map((range) => ipFamily(range.split('/')[0] ?? '')))
  if (ranges.length > families.size || ranges.length > 2) {
    errors.push(invalidField('spec.podCIDRs', ranges, 'may specify no more than one CIDR for each IP family'))
  }
  return errors
}

function checkNodeUpdate(node: Fields, oldNode: Fields): FieldError[] {
  const [spec, old] = [struct(node, 'spec'), struct(oldNode, 'spec')]
  const errors = [...checkAmounts(node), ...checkAddresses(node)]
  const before = texts(old, 'podCIDRs')
  if (before.length > 0 && !sameValue(before, texts(spec, 'podCIDRs'))) {
    errors.push(forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'))
  }
  if (text(old, 'providerID') !== '' && text(old, 'providerID') !== text(spec, 'providerID')) {
    errors.push(forbiddenField('spec.providerID', 'node updates may not change providerID except from "" to valid'))
  }
  return [...errors, ...checkTaints(node)]
}

function checkAddresses(node: Fields): FieldError[] {
  const seen = new Set<string>()
  return checkEach(structs(struct(node, 'status'), 'addresses'), 'status.addresses', (address, at) => {
    const [type, value] = [text(address, 'type'), text(address, 'address')]
    const key = `${type}/${value}`
    if (seen.has(key)) return [duplicateField(at, { Type: type, Address: value })]
    seen.add(key)
    return []
  })
}
