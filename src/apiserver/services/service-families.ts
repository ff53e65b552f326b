/** The IP families of a Service on a cluster that has IPv4 only: filled in, or refused in the API server's words. */
import { type FieldError, invalidField } from '../../kube/status/field-error.ts'
import { ipFamily } from '../kinds/addresses.ts'
import { checkClusterIps } from '../kinds/core/service-addresses.ts'
import { type Fields, has, text, textMap, texts } from '../kinds/fields.ts'

const family = 'IPv4'

/** Sets `ipFamilyPolicy` and `ipFamilies`; returns what is wrong with what was given. */
export function completeFamilies(spec: Fields, old: Fields | undefined): FieldError[] {
  if (text(spec, 'type') === 'ExternalName' || isUnchangedDualStack(spec, old)) return []
  if (!has(spec, 'ipFamilyPolicy')) spec['ipFamilyPolicy'] = defaultPolicy(spec, old)
  const malformed = checkClusterIps(spec)
  if (malformed.length > 0) return malformed
  const errors = [...checkSingleStack(spec), ...inferFamilies(spec)]
  if (errors.length > 0) return errors
  if (isFreeOfFamilies(spec)) {
    completeHeadless(spec)
    return []
  }
  const refused = checkConfigured(spec)
  if (refused.length === 0 && texts(spec, 'ipFamilies').length === 0) spec['ipFamilies'] = [family]
  return refused
}

/** What a cluster with two families once accepted stays as it is until somebody changes it. */
function isUnchangedDualStack(spec: Fields, old: Fields | undefined): boolean {
  if (old === undefined || text(old, 'ipFamilyPolicy') !== 'PreferDualStack') return false
  const isSame = (name: string): boolean => texts(spec, name).join() === texts(old, name).join()
  return text(spec, 'ipFamilyPolicy') === 'PreferDualStack' && isSame('clusterIPs') && isSame('ipFamilies')
}

function defaultPolicy(spec: Fields, old: Fields | undefined): string {
  if (old !== undefined && has(old, 'ipFamilyPolicy')) return text(old, 'ipFamilyPolicy')
  return isFreeOfFamilies(spec) ? 'RequireDualStack' : 'SingleStack'
}

/** Headless and without a selector: whoever writes its endpoints decides about families. */
function isFreeOfFamilies(spec: Fields): boolean {
  return text(spec, 'clusterIP') === 'None' && Object.keys(textMap(spec, 'selector')).length === 0
}

function completeHeadless(spec: Fields): void {
  const [first = family, ...others] = texts(spec, 'ipFamilies')
  const isSingle = text(spec, 'ipFamilyPolicy') === 'SingleStack'
  const other = first === 'IPv4' ? 'IPv6' : 'IPv4'
  spec['ipFamilies'] = isSingle || others.length > 0 ? [first, ...others] : [first, other]
}

function checkSingleStack(spec: Fields): FieldError[] {
  if (text(spec, 'ipFamilyPolicy') !== 'SingleStack') return []
  const detail = (what: string): string =>
    `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`
  const refuse = (what: string): FieldError => invalidField('spec.ipFamilyPolicy', 'SingleStack', detail(what))
  return [
    ...(texts(spec, 'clusterIPs').length === 2 ? [refuse('cluster IPs')] : []),
    ...(texts(spec, 'ipFamilies').length === 2 ? [refuse('IP families')] : []),
  ]
}

function inferFamilies(spec: Fields): FieldError[] {
  const addresses = texts(spec, 'clusterIPs')
  const families = texts(spec, 'ipFamilies')
  const errors: FieldError[] = []
  for (const [index, address] of addresses.entries()) {
    if (address === 'None') break
    if (index < families.length) continue
    const found = ipFamily(address)
    if (found === family) families.push(found)
    else errors.push(invalidField(`spec.clusterIPs[${index}]`, addresses, `${found} is not configured on this cluster`))
  }
  if (families.length > 0) spec['ipFamilies'] = families
  return errors
}

function checkConfigured(spec: Fields): FieldError[] {
  const policy = text(spec, 'ipFamilyPolicy')
  const single = 'this cluster is not configured for dual-stack services'
  return [
    ...(policy === 'RequireDualStack' ? [invalidField('spec.ipFamilyPolicy', policy, single)] : []),
    ...texts(spec, 'ipFamilies').flatMap((listed, index) =>
      listed === family ? [] : [invalidField(`spec.ipFamilies[${index}]`, listed, 'not configured on this cluster')],
    ),
  ]
}
