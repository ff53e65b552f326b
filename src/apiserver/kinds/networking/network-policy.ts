/** NetworkPolicies. */
import { BlockList } from 'node:net'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkCidr, ipFamily, isCidr } from '../addresses.ts'
import { checkEach, checkName, checkNumber, checkSupported } from '../checks.ts'
import { type Fields, has, integer, intOrText, struct, structs, text, texts } from '../fields.ts'
import { checkLabelSelector } from '../label-selector.ts'
import { portName, portNumber } from '../names.ts'
import type { KindRules } from '../rules.ts'

const policyTypes = ['Ingress', 'Egress']

export const NETWORK_POLICY_RULES: KindRules = {
  generationOf: ['spec'],
  check(policy) {
    const spec = struct(policy, 'spec') ?? {}
    return [
      ...checkLabelSelector(struct(spec, 'podSelector'), 'spec.podSelector'),
      ...checkEach(structs(spec, 'ingress'), 'spec.ingress', (rule, at) => checkRule(rule, 'from', at)),
      ...checkEach(structs(spec, 'egress'), 'spec.egress', (rule, at) => checkRule(rule, 'to', at)),
      ...checkTypes(texts(spec, 'policyTypes'), 'spec.policyTypes'),
    ]
  },
}

function checkTypes(types: readonly string[], path: string): FieldError[] {
  if (types.length > policyTypes.length) {
    return [invalidField(path, types, 'may not specify more than two policyTypes')]
  }
  return checkEach(types, path, (type, at) => checkSupported(type, at, policyTypes))
}

function checkRule(rule: Fields, peers: 'from' | 'to', path: string): FieldError[] {
  return [
    ...checkEach(structs(rule, 'ports'), `${path}.ports`, checkPolicyPort),
    ...checkEach(structs(rule, peers), `${path}.${peers}`, checkPeer),
  ]
}

function checkPolicyPort(port: Fields, path: string): FieldError[] {
  const protocol = text(port, 'protocol')
  const supported = ['TCP', 'UDP', 'SCTP']
  const errors =
    has(port, 'protocol') && !supported.includes(protocol)
      ? [notSupportedField(`${path}.protocol`, protocol, supported)]
      : []
  const [value, end] = [intOrText(port, 'port'), integer(port, 'endPort')]
  const at = `${path}.endPort`
  if (typeof value === 'number') {
    errors.push(...checkNumber(value, `${path}.port`, portNumber))
    if (end !== undefined && end < value) {
      errors.push(invalidField(at, value, 'must be greater than or equal to `port`'))
    }
    return [...errors, ...checkNumber(end, at, portNumber)]
  }
  const why = value === undefined ? 'is not specified' : 'is non-numeric'
  if (end !== undefined) errors.push(invalidField(at, end, `may not be specified when \`port\` ${why}`))
  return value === undefined ? errors : [...errors, ...checkName(value, `${path}.port`, portName)]
}

function checkPeer(peer: Fields, path: string): FieldError[] {
  const selectors = ['podSelector', 'namespaceSelector'].filter((name) => has(peer, name))
  const block = struct(peer, 'ipBlock')
  const errors = selectors.flatMap((name) => checkLabelSelector(struct(peer, name), `${path}.${name}`))
  if (block !== undefined) errors.push(...checkBlock(block, `${path}.ipBlock`))
  if (block === undefined && selectors.length === 0) errors.push(requiredField(path, 'must specify a peer'))
  if (block !== undefined && selectors.length > 0) {
    errors.push(forbiddenField(path, 'may not specify both ipBlock and another peer'))
  }
  return errors
}

function checkBlock(block: Fields, path: string): FieldError[] {
  const range = text(block, 'cidr')
  if (range === '') return [requiredField(`${path}.cidr`)]
  const errors = checkCidr(range, `${path}.cidr`)
  if (errors.length > 0) return errors
  return checkEach(texts(block, 'except'), `${path}.except`, (except, at) => {
    if (!isCidr(except)) return checkCidr(except, at)
    return isInside(except, range) ? [] : [invalidField(at, except, 'must be a strict subset of `cidr`')]
  })
}

function isInside(inner: string, outer: string): boolean {
  const [innerAddress = '', innerPrefix = ''] = inner.split('/')
  const [outerAddress = '', outerPrefix = ''] = outer.split('/')
  const family = ipFamily(outerAddress)
  if (family === undefined || ipFamily(innerAddress) !== family) return false
  const type = family === 'IPv4' ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(outerAddress, Number(outerPrefix), type)
  return list.check(innerAddress, type) && Number(outerPrefix) < Number(innerPrefix)
}
