/** Services. Addresses and node ports are allocated elsewhere, before these checks run. */
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkCidr, checkEndpointIp, checkIp } from '../addresses.ts'
import { checkEach, checkName, checkNumber, checkRequiredSupported, checkSupported } from '../checks.ts'
import { isExternallyAccessible } from '../defaults/service.ts'
import { type Fields, has, integer, intOrText, struct, structs, text, textMap, texts } from '../fields.ts'
import { checkLabels } from '../metadata.ts'
import { dnsLabel, dnsSubdomain, portNumber } from '../names.ts'
import { PORT_PROTOCOLS } from '../pods/containers.ts'
import { checkPort } from '../pods/probes.ts'
import type { KindRules } from '../rules.ts'
import { checkClusterIps, checkServiceUpdate, isHeadless } from './service-addresses.ts'
import { dropForeignFields, keepAllocations, nameClusterIps } from './service-allocations.ts'

const MAX_CLIENT_IP_SECONDS = 86_400

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'"

export const SERVICE_RULES: KindRules = {
  name: dnsLabel,
  allowsCreateOnUpdate: true,
  prepareForCreate: nameClusterIps,
  prepareForUpdate(service, old) {
    keepAllocations(service, old)
    dropForeignFields(service, old)
  },
  check: checkService,
  checkUpdate: (service, old) => [...checkServiceUpdate(service, old), ...checkService(service)],
  checkStatusUpdate: checkLoadBalancerStatus,
}

function checkService(service: Fields): FieldError[] {
  const spec = struct(service, 'spec') ?? {}
  const ports = structs(spec, 'ports')
  const type = text(spec, 'type')
  const names = new Set<string>()
  const errors = ports.length === 0 && !isHeadless(spec) && type !== 'ExternalName' ? [requiredField('spec.ports')] : []
  return [
    ...errors,
    ...checkType(spec, type),
    ...checkEach(ports, 'spec.ports', (port, at) => checkServicePort(port, ports.length > 1, names, at)),
    ...checkLabels(textMap(spec, 'selector'), 'spec.selector'),
    ...checkAffinity(spec),
    ...checkClusterIps(spec),
    ...checkEach(texts(spec, 'externalIPs'), 'spec.externalIPs', (address, at) => {
      const invalid = checkIp(address, at)
      return invalid.length > 0 ? invalid : checkEndpointIp(address, at)
    }),
    ...checkRequiredSupported(type, 'spec.type', types),
    ...checkPortNumbers(ports, type),
    ...checkLoadBalancerFields(spec, type),
    ...checkTrafficPolicies(spec, type),
  ]
}

function checkType(spec: Fields, type: string): FieldError[] {
  if (isHeadless(spec) && (type === 'LoadBalancer' || type === 'NodePort')) {
    return [invalidField('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`)]
  }
  if (type !== 'ExternalName') return []
  const detail = 'may not be set for ExternalName services'
  const refused = ['clusterIPs', 'ipFamilies'].filter((name) => texts(spec, name).length > 0)
  if (has(spec, 'ipFamilyPolicy')) refused.push('ipFamilyPolicy')
  const name = text(spec, 'externalName').replace(/\.$/, '')
  return [
    ...refused.map((field) => forbiddenField(`spec.${field}`, detail)),
    ...(name === '' ? [requiredField('spec.externalName')] : checkName(name, 'spec.externalName', dnsSubdomain)),
  ]
}

function checkServicePort(port: Fields, needsName: boolean, names: Set<string>, path: string): FieldError[] {
  const name = text(port, 'name')
  const errors: FieldError[] = []
  if (name === '' && needsName) errors.push(requiredField(`${path}.name`))
  else if (name !== '') {
    errors.push(...checkName(name, `${path}.name`, dnsLabel))
    if (names.has(name)) errors.push(duplicateField(`${path}.name`, name))
    names.add(name)
  }
  return [
    ...errors,
    ...checkNumber(integer(port, 'port') ?? 0, `${path}.port`, portNumber),
    ...checkRequiredSupported(text(port, 'protocol'), `${path}.protocol`, PORT_PROTOCOLS),
    ...checkPort(intOrText(port, 'targetPort') ?? 0, `${path}.targetPort`),
    ...(has(port, 'appProtocol') ? checkName(text(port, 'appProtocol'), `${path}.appProtocol`, labelKeyBreaches) : []),
  ]
}

function checkAffinity(spec: Fields): FieldError[] {
  const affinity = text(spec, 'sessionAffinity')
  const config = 'spec.sessionAffinityConfig'
  const errors = checkRequiredSupported(affinity, 'spec.sessionAffinity', ['ClientIP', 'None'])
  if (affinity === 'ClientIP') {
    const seconds = integer(struct(struct(spec, 'sessionAffinityConfig'), 'clientIP'), 'timeoutSeconds') ?? 0
    if (seconds <= 0 || seconds > MAX_CLIENT_IP_SECONDS) {
      const detail = `must be greater than 0 and less than ${MAX_CLIENT_IP_SECONDS}`
      errors.push(invalidField(`${config}.clientIP.timeoutSeconds`, seconds, detail))
    }
  } else if (affinity === 'None' && has(spec, 'sessionAffinityConfig')) {
    errors.push(forbiddenField(config, 'must not be set when session affinity is None'))
  }
  return errors
}

function checkPortNumbers(ports: readonly Fields[], type: string): FieldError[] {
  const [nodePorts, seenPorts] = [new Set<string>(), new Set<string>()]
  const forbidden = checkEach(ports, 'spec.ports', (port, at) =>
    type === 'ClusterIP' && integer(port, 'nodePort')
      ? [forbiddenField(`${at}.nodePort`, "may not be used when `type` is 'ClusterIP'")]
      : [],
  )
  const repeatedNodePorts = checkEach(ports, 'spec.ports', (port, at) => {
    const nodePort = integer(port, 'nodePort') ?? 0
    const key = `${text(port, 'protocol')}/${nodePort}`
    const repeated = nodePort !== 0 && nodePorts.has(key)
    nodePorts.add(key)
    return repeated ? [duplicateField(`${at}.nodePort`, nodePort)] : []
  })
  const repeatedPorts = checkEach(ports, 'spec.ports', (port, at) => {
    const [number, protocol] = [integer(port, 'port') ?? 0, text(port, 'protocol')]
    const repeated = seenPorts.has(`${protocol}/${number}`)
    seenPorts.add(`${protocol}/${number}`)
    const shown = { Name: '', Protocol: protocol, AppProtocol: null, Port: number, TargetPort: 0, NodePort: 0 }
    return repeated ? [duplicateField(at, shown)] : []
  })
  return [...forbidden, ...repeatedNodePorts, ...repeatedPorts]
}

function checkLoadBalancerFields(spec: Fields, type: string): FieldError[] {
  const ranges = texts(spec, 'loadBalancerSourceRanges')
  const isLoadBalancer = type === 'LoadBalancer'
  const errors: FieldError[] = []
  if (ranges.length > 0 && !isLoadBalancer) {
    errors.push(forbiddenField('spec.LoadBalancerSourceRanges', onlyLoadBalancer))
  }
  errors.push(...checkEach(ranges, 'spec.LoadBalancerSourceRanges', (range, at) => checkCidr(range.trim(), at)))
  if (has(spec, 'allocateLoadBalancerNodePorts') && !isLoadBalancer) {
    errors.push(forbiddenField('spec.allocateLoadBalancerNodePorts', onlyLoadBalancer))
  }
  if (has(spec, 'loadBalancerClass')) {
    const name = text(spec, 'loadBalancerClass')
    if (isLoadBalancer) errors.push(...checkName(name, 'spec.loadBalancerClass', labelKeyBreaches))
    else errors.push(forbiddenField('spec.loadBalancerClass', onlyLoadBalancer))
  }
  return errors
}

function checkTrafficPolicies(spec: Fields, type: string): FieldError[] {
  const external = text(spec, 'externalTrafficPolicy')
  const policies = ['Cluster', 'Local']
  const errors: FieldError[] = []
  if (isExternallyAccessible(spec)) {
    errors.push(...checkRequiredSupported(external, 'spec.externalTrafficPolicy', policies))
  } else if (external !== '') {
    const detail = 'may only be set for externally-accessible services'
    errors.push(invalidField('spec.externalTrafficPolicy', external, detail))
  }
  const healthPort = integer(spec, 'healthCheckNodePort') ?? 0
  const needsHealthPort = type === 'LoadBalancer' && external === 'Local'
  if (healthPort !== 0 && !needsHealthPort) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    errors.push(invalidField('spec.healthCheckNodePort', healthPort, detail))
  }
  if (has(spec, 'internalTrafficPolicy')) {
    errors.push(...checkSupported(text(spec, 'internalTrafficPolicy'), 'spec.internalTrafficPolicy', policies))
  }
  if (has(spec, 'trafficDistribution')) {
    const supported = ['PreferClose', 'PreferSameZone', 'PreferSameNode']
    errors.push(...checkSupported(text(spec, 'trafficDistribution'), 'spec.trafficDistribution', supported))
  }
  return errors
}

function checkLoadBalancerStatus(service: Fields): FieldError[] {
  const ingress = structs(struct(struct(service, 'status'), 'loadBalancer'), 'ingress')
  return checkEach(ingress, 'status.loadBalancer.ingress', (entry, at) => [
    ...(text(entry, 'ip') === '' ? [] : checkIp(text(entry, 'ip'), `${at}.ip`)),
    ...(text(entry, 'hostname') === '' ? [] : checkName(text(entry, 'hostname'), `${at}.hostname`, dnsSubdomain)),
  ])
}
