/** Defaults of Services that need no allocation: addresses and node ports are given elsewhere. */
import { ensureStruct, type Fields, has, integer, setWhenAbsent, struct, structs, text, texts } from '../fields.ts'

const DEFAULT_CLIENT_IP_SECONDS = 10_800

export function completeService(service: Fields): void {
  const spec = ensureStruct(service, 'spec')
  setWhenEmpty(spec, 'sessionAffinity', 'None')
  setWhenEmpty(spec, 'type', 'ClusterIP')
  completeAffinity(spec)
  for (const port of structs(spec, 'ports')) completePort(port)
  const type = text(spec, 'type')
  if (isExternallyAccessible(spec)) setWhenEmpty(spec, 'externalTrafficPolicy', 'Cluster')
  if (['ClusterIP', 'NodePort', 'LoadBalancer'].includes(type)) setWhenAbsent(spec, 'internalTrafficPolicy', 'Cluster')
  if (type !== 'LoadBalancer') return
  setWhenAbsent(spec, 'allocateLoadBalancerNodePorts', true)
  for (const ingress of structs(struct(struct(service, 'status'), 'loadBalancer'), 'ingress')) {
    if (text(ingress, 'ip') !== '') setWhenAbsent(ingress, 'ipMode', 'VIP')
  }
}

export function isExternallyAccessible(spec: Fields): boolean {
  const type = text(spec, 'type')
  return (
    type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && texts(spec, 'externalIPs').length > 0)
  )
}

function completeAffinity(spec: Fields): void {
  const affinity = text(spec, 'sessionAffinity')
  if (affinity === 'None') delete spec['sessionAffinityConfig']
  if (affinity !== 'ClientIP') return
  const timeoutSeconds = struct(struct(spec, 'sessionAffinityConfig'), 'clientIP')
  if (has(timeoutSeconds, 'timeoutSeconds')) return
  spec['sessionAffinityConfig'] = { clientIP: { timeoutSeconds: DEFAULT_CLIENT_IP_SECONDS } }
}

function completePort(port: Fields): void {
  setWhenEmpty(port, 'protocol', 'TCP')
  const target = port['targetPort']
  if (target === undefined || target === null || target === 0 || target === '') {
    port['targetPort'] = integer(port, 'port') ?? 0
  }
}

function setWhenEmpty(fields: Fields, name: string, value: string): void {
  if (text(fields, name) === '') fields[name] = value
}
