/** Services and the endpoints behind them. */
import { isIPv6 } from 'node:net'
import type { KubeObject } from '../objects.ts'
import { firstFew, labelMapColumn, NONE, textColumn, UNKNOWN, UNSET } from './common-cells.ts'
import { AGE_COLUMN, type Cell, column, layout, NAME_COLUMN, type TableLayout } from './layout.ts'
import { at, integerAt, listAt, optionalTextAt, textAt, textsAt } from './paths.ts'

const shownEndpoints = 3

const service = layout([
  NAME_COLUMN,
  textColumn('Type', 'How it is reached.', ['spec', 'type']),
  column('Cluster-IP', 'Its address inside the cluster.', (object) => textsAt(object, 'spec', 'clusterIPs')[0] ?? NONE),
  column('External-IP', 'Its addresses for the world outside.', externalAddresses),
  column('Port(s)', 'Ports, with those on nodes after a colon.', servicePorts),
  AGE_COLUMN,
  labelMapColumn('spec', 'selector'),
])

function externalAddresses(object: KubeObject): Cell {
  const externalIPs = textsAt(object, 'spec', 'externalIPs')
  switch (textAt(object, 'spec', 'type')) {
    case 'ClusterIP':
    case 'NodePort':
      return externalIPs.join(',') || NONE
    case 'LoadBalancer':
      return [...loadBalancerAddresses(object), ...externalIPs].join(',') || '<pending>'
    case 'ExternalName':
      return textAt(object, 'spec', 'externalName')
    default:
      return UNKNOWN
  }
}

/** Addresses, or host names where there are none, of what stands in front; each once, in order. */
export function loadBalancerAddresses(object: KubeObject): string[] {
  const addresses = listAt(object, 'status', 'loadBalancer', 'ingress').map(
    (point) => textAt(point, 'ip') || textAt(point, 'hostname'),
  )
  return [...new Set(addresses.filter((address) => address !== ''))].toSorted()
}

function servicePorts(object: KubeObject): Cell {
  const ports = listAt(object, 'spec', 'ports').map((port) => {
    const nodePort = integerAt(port, 'nodePort')
    const number = nodePort > 0 ? `${integerAt(port, 'port')}:${nodePort}` : String(integerAt(port, 'port'))
    return `${number}/${textAt(port, 'protocol')}`
  })
  return ports.join(',') || NONE
}

function endpointAddresses(object: KubeObject): Cell {
  const subsets = listAt(object, 'subsets')
  if (subsets.length === 0) return NONE
  const addresses = subsets.flatMap((subset) => {
    const hosts = listAt(subset, 'addresses').map((address) => textAt(address, 'ip'))
    const ports = listAt(subset, 'ports').map((port) => integerAt(port, 'port'))
    return ports.length === 0 ? hosts : ports.flatMap((port) => hosts.map((host) => joinHostPort(host, port)))
  })
  return firstFew(addresses, shownEndpoints)
}

function joinHostPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

function slicePorts(object: KubeObject): Cell {
  const ports = listAt(object, 'ports').map((port) =>
    at(port, 'port') === undefined ? (optionalTextAt(port, 'name') ?? '*') : String(integerAt(port, 'port')),
  )
  return firstFew(ports, shownEndpoints) || UNSET
}

function sliceAddresses(object: KubeObject): Cell {
  const addresses = listAt(object, 'endpoints').flatMap((endpoint) => textsAt(endpoint, 'addresses'))
  return firstFew(addresses, shownEndpoints) || UNSET
}

export const SERVICE_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  Service: service,
  Endpoints: layout([
    NAME_COLUMN,
    column('Endpoints', 'Addresses and ports that serve it.', endpointAddresses),
    AGE_COLUMN,
  ]),
  'EndpointSlice.discovery.k8s.io': layout([
    NAME_COLUMN,
    textColumn('AddressType', 'Kind of addresses it lists.', ['addressType']),
    column('Ports', 'Ports, or their names where the number is open.', slicePorts),
    column('Endpoints', 'Addresses that serve it.', sliceAddresses),
    AGE_COLUMN,
  ]),
}
