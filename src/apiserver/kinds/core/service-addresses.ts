/** The cluster addresses of a Service: how they fit together, and that they stay once they are given. */
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkIp, ipFamily } from '../addresses.ts'
import { checkSupported, repetitions } from '../checks.ts'
import { type Fields, has, integer, struct, text, texts } from '../fields.ts'

const MAX_CLUSTER_IPS = 2

const families = ['IPv4', 'IPv6']
const changed = 'may not change once set'

export function isHeadless(spec: Fields | undefined): boolean {
  const addresses = texts(spec, 'clusterIPs')
  return addresses.length === 1 && addresses[0] === 'None'
}

export function checkClusterIps(spec: Fields): FieldError[] {
  if (text(spec, 'type') === 'ExternalName') return []
  const addresses = texts(spec, 'clusterIPs')
  const errors = [...checkPrimary(text(spec, 'clusterIP'), addresses), ...checkFamilies(spec)]
  const invalid = checkAddresses(addresses)
  errors.push(...invalid)
  if (addresses.length > MAX_CLUSTER_IPS) {
    errors.push(invalidField('spec.clusterIPs', addresses, `may only hold up to ${MAX_CLUSTER_IPS} values`))
  }
  if (invalid.length > 0) return errors
  if (addresses.length > 1 && new Set(addresses.map(ipFamily)).size < addresses.length) {
    errors.push(invalidField('spec.clusterIPs', addresses, 'may specify no more than one IP for each IP family'))
  }
  return [...errors, ...checkAddressFamilies(spec, addresses)]
}

function checkPrimary(primary: string, addresses: readonly string[]): FieldError[] {
  if (primary === '') {
    const detail = 'must be empty when `clusterIP` is not specified'
    return addresses.length > 0 ? [invalidField('spec.clusterIPs', addresses, detail)] : []
  }
  if (addresses.length === 0) return [requiredField('spec.clusterIPs')]
  return addresses[0] === primary
    ? []
    : [invalidField('spec.clusterIPs', addresses, 'first value must match `clusterIP`')]
}

function checkFamilies(spec: Fields): FieldError[] {
  const listed = texts(spec, 'ipFamilies')
  const isRepeated = repetitions()
  const errors = listed.flatMap((family, index) => {
    const at = `spec.ipFamilies[${index}]`
    const unknown = families.includes(family) ? [] : [notSupportedField(at, family, families)]
    return isRepeated(family) ? [...unknown, duplicateField(at, family)] : unknown
  })
  const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']
  if (has(spec, 'ipFamilyPolicy')) {
    errors.push(...checkSupported(text(spec, 'ipFamilyPolicy'), 'spec.ipFamilyPolicy', policies))
  }
  return errors
}

function checkAddresses(addresses: readonly string[]): FieldError[] {
  return addresses.flatMap((address, index) => {
    if (index === 0 && address === 'None') {
      const detail = "'None' must be the first and only value"
      return addresses.length > 1 ? [invalidField('spec.clusterIPs', addresses, detail)] : []
    }
    return checkIp(address, `spec.clusterIPs[${index}]`)
  })
}

function checkAddressFamilies(spec: Fields, addresses: readonly string[]): FieldError[] {
  if (isHeadless(spec)) return []
  return texts(spec, 'ipFamilies').flatMap((family, index) => {
    const address = addresses[index]
    if (address === undefined || !families.includes(family) || ipFamily(address) === family) return []
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``
    return [invalidField(`spec.clusterIPs[${index}]`, address, detail)]
  })
}

export function checkServiceUpdate(service: Fields, oldService: Fields): FieldError[] {
  const [spec, old] = [struct(service, 'spec') ?? {}, struct(oldService, 'spec') ?? {}]
  const bothAre = (type: string): boolean => text(spec, 'type') === type && text(old, 'type') === type
  const hasCluster = text(spec, 'type') !== 'ExternalName' && text(old, 'type') !== 'ExternalName'
  const errors = hasCluster ? [...checkAddressUpdate(spec, old), ...checkFamilyUpdate(spec, old)] : []
  if (bothAre('LoadBalancer')) {
    if (text(spec, 'loadBalancerClass') !== text(old, 'loadBalancerClass')) {
      errors.push(invalidField('spec.loadBalancerClass', spec['loadBalancerClass'] ?? null, changed))
    }
    const local = text(spec, 'externalTrafficPolicy') === 'Local' && text(old, 'externalTrafficPolicy') === 'Local'
    if (local && integer(spec, 'healthCheckNodePort') !== integer(old, 'healthCheckNodePort')) {
      errors.push(forbiddenField('spec.healthCheckNodePort', 'field is immutable'))
    }
  }
  return errors
}

/** The first address stays for ever; a second one may come and go. */
function checkAddressUpdate(spec: Fields, old: Fields): FieldError[] {
  if (isHeadless(spec) && isHeadless(old)) return []
  const [now, before] = [texts(spec, 'clusterIPs'), texts(old, 'clusterIPs')]
  if (now.length === before.length) {
    return before.flatMap((address, index) =>
      address === now[index] ? [] : [invalidField(`spec.clusterIPs[${index}]`, now, changed)],
    )
  }
  const errors: FieldError[] = []
  if (now.length === 0) {
    errors.push(
      invalidField('spec.clusterIPs[0]', has(spec, 'clusterIPs') ? now : null, 'primary clusterIP can not be unset'),
    )
  } else if (before.length > 0 && now[0] !== before[0]) errors.push(invalidField('spec.clusterIPs[0]', now, changed))
  if (now.length === 1 && before.length > 1 && text(spec, 'ipFamilyPolicy') !== 'SingleStack') {
    const detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
    errors.push(invalidField('spec.ipFamilyPolicy', spec['ipFamilyPolicy'] ?? null, detail))
  }
  return errors
}

function checkFamilyUpdate(spec: Fields, old: Fields): FieldError[] {
  if (isHeadless(spec) || isHeadless(old)) return []
  const [now, before] = [texts(spec, 'ipFamilies'), texts(old, 'ipFamilies')]
  if (now.length !== before.length) return []
  return before.flatMap((family, index) =>
    family === now[index] ? [] : [invalidField('spec.ipFamilies[0]', now, changed)],
  )
}
