/**
 * What was allocated for a Service, in the hands of clients that may not know about it: an update that does not name an
 * address or a port keeps it, and one that changes the type lets go of what the new type does not have.
 */

import { isExternallyAccessible } from '../defaults/service.ts'
import { sameValue } from '../equality.ts'
import { copyField, ensureStruct, type Fields, integer, struct, structs, text, texts } from '../fields.ts'

/** `clusterIP` is the first of `clusterIPs`; a client may give only the one. */
export function nameClusterIps(service: Fields): void {
  const spec = ensureStruct(service, 'spec')
  const address = text(spec, 'clusterIP')
  if (address !== '' && texts(spec, 'clusterIPs').length === 0) spec['clusterIPs'] = [address]
}

export function keepAllocations(service: Fields, oldService: Fields): void {
  const [spec, old] = [ensureStruct(service, 'spec'), struct(oldService, 'spec') ?? {}]
  if (hasClusterIp(spec) && hasClusterIp(old)) {
    if (text(spec, 'clusterIP') === '') copyField(spec, old, 'clusterIP')
    if (texts(spec, 'clusterIPs').length === 0) copyField(spec, old, 'clusterIPs')
    for (const name of ['ipFamilies', 'ipFamilyPolicy']) if (spec[name] === undefined) copyField(spec, old, name)
  }
  if (hasNodePorts(spec) && hasNodePorts(old)) keepNodePorts(spec, old)
  const bothHaveHealthPort = hasHealthPort(spec) && hasHealthPort(old)
  if (bothHaveHealthPort && !integer(spec, 'healthCheckNodePort')) copyField(spec, old, 'healthCheckNodePort')
  followPrimaryAddress(spec, old)
}

/** A client that changes only `clusterIP` means the list as well. */
function followPrimaryAddress(spec: Fields, old: Fields): void {
  const [address, before] = [text(spec, 'clusterIP'), text(old, 'clusterIP')]
  if (address === before || !sameValue(spec['clusterIPs'], old['clusterIPs'])) return
  if (address === '') delete spec['clusterIPs']
  else spec['clusterIPs'] = [address]
}

/** Ports are known by their names. */
function keepNodePorts(spec: Fields, old: Fields): void {
  const used = (owner: Fields): number[] => structs(owner, 'ports').map((port) => integer(port, 'nodePort') ?? 0)
  const wanted = new Set(used(spec))
  const stillUsed = new Set(used(old).filter((nodePort) => nodePort !== 0 && wanted.has(nodePort)))
  const before = new Map(structs(old, 'ports').map((port) => [text(port, 'name'), integer(port, 'nodePort') ?? 0]))
  for (const port of structs(spec, 'ports')) {
    const nodePort = before.get(text(port, 'name')) ?? 0
    if (!integer(port, 'nodePort') && nodePort !== 0 && !stillUsed.has(nodePort)) port['nodePort'] = nodePort
  }
}

/** Only what the client repeats from before is dropped; what it sets anew is judged. */
export function dropForeignFields(service: Fields, oldService: Fields): void {
  const [spec, old] = [ensureStruct(service, 'spec'), struct(oldService, 'spec') ?? {}]
  const loses = (needs: (owner: Fields) => boolean): boolean => needs(old) && !needs(spec)
  const dropSame = (...names: readonly string[]): void => {
    if (names.every((name) => sameValue(spec[name], old[name]))) for (const name of names) delete spec[name]
  }
  if (loses(hasClusterIp)) {
    dropSame('clusterIP', 'clusterIPs')
    dropSame('ipFamilies')
    dropSame('ipFamilyPolicy')
  }
  if (!hasClusterIp(spec)) delete spec['internalTrafficPolicy']
  if (loses(hasNodePorts)) dropNodePorts(spec, old)
  if (loses(hasHealthPort)) dropSame('healthCheckNodePort')
  if (loses(isLoadBalancer)) {
    dropSame('allocateLoadBalancerNodePorts')
    dropSame('loadBalancerClass')
  }
  if (loses(isExternallyAccessible)) dropSame('externalTrafficPolicy')
  const status = struct(service, 'status')
  if (!isLoadBalancer(spec) && status !== undefined) delete status['loadBalancer']
}

function dropNodePorts(spec: Fields, old: Fields): void {
  const before = new Set(structs(old, 'ports').map((port) => integer(port, 'nodePort') ?? 0))
  const ports = structs(spec, 'ports')
  if (!ports.every((port) => before.has(integer(port, 'nodePort') ?? 0) || !integer(port, 'nodePort'))) return
  for (const port of ports) delete port['nodePort']
}

function hasClusterIp(spec: Fields): boolean {
  return text(spec, 'type') !== 'ExternalName'
}

function hasNodePorts(spec: Fields): boolean {
  return text(spec, 'type') === 'NodePort' || isLoadBalancer(spec)
}

function hasHealthPort(spec: Fields): boolean {
  return isLoadBalancer(spec) && text(spec, 'externalTrafficPolicy') === 'Local'
}

function isLoadBalancer(spec: Fields): boolean {
  return text(spec, 'type') === 'LoadBalancer'
}
