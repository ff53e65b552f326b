/** Node ports: given to the ports of a Service that has them, and to the health checks of a load balancer. */
import { randomInt } from 'node:crypto'
import { internalError, invalidField } from '../../kube/status/index.ts'
import type { Clock } from '../../telemetry/clock.ts'
import { type Fields, flag, has, integer, structs, text } from '../kinds/fields.ts'
import { AllocationTable } from './allocation-table.ts'
import { refuseService, type ServiceRequest } from './service-request.ts'

/** The range that Kubernetes uses by default. */
export const FIRST_NODE_PORT = 30_000
export const LAST_NODE_PORT = 32_767

/** After so many misses the range is nearly full, and searching in order is faster. */
const maxRandomTries = 64
const isTaken = 'provided port is already allocated'
const isOutOfRange = `provided port is not in the valid range. The range of valid ports is ${FIRST_NODE_PORT}-${LAST_NODE_PORT}`

export class NodePorts {
  readonly #table: AllocationTable<number>

  constructor(clock: Clock) {
    this.#table = new AllocationTable(clock)
  }

  /** What a stored Service has; nothing once it is gone. */
  hold(owner: string, spec: Fields): void {
    const numbers = [
      ...structs(spec, 'ports').map((port) => integer(port, 'nodePort')),
      integer(spec, 'healthCheckNodePort'),
    ]
    this.#table.hold(owner, [...new Set(numbers.filter((number) => number !== undefined && number > 0))] as number[])
  }

  give(request: ServiceRequest): void {
    const { spec, old } = request
    if (usesNodePorts(spec)) this.#givePorts(request)
    if (needsHealthCheckPort(spec) && !(old !== undefined && needsHealthCheckPort(old)))
      this.#giveHealthCheckPort(request)
  }

  confirm(request: ServiceRequest): void {
    const { owner, spec } = request
    for (const [index, port] of structs(spec, 'ports').entries()) {
      const nodePort = integer(port, 'nodePort') ?? 0
      if (nodePort > 0 && !this.#table.confirm(nodePort, owner)) refusePort(request, index, nodePort, isTaken)
    }
    const healthPort = integer(spec, 'healthCheckNodePort') ?? 0
    if (healthPort > 0 && !this.#table.confirm(healthPort, owner)) throw healthPortRefused(healthPort, isTaken)
  }

  #givePorts(request: ServiceRequest): void {
    const { spec, old } = request
    const isAutomatic = text(spec, 'type') === 'NodePort' || flag(spec, 'allocateLoadBalancerNodePorts')
    const ports = structs(spec, 'ports')
    /** Node ports by port: a new Service with one port for two protocols gets one node port for both. */
    const shared = new Map<number, number>()
    for (const [index, port] of ports.entries()) {
      const given = integer(port, 'nodePort') ?? 0
      if (given === 0 && !isAutomatic) continue
      const number = integer(port, 'port') ?? 0
      const sibling = old === undefined ? (shared.get(number) ?? nodePortFor(number, ports.slice(index))) : 0
      const nodePort = given || sibling || this.#pick()
      const isTwice = old === undefined && [...shared].some(([other, used]) => other !== number && used === nodePort)
      const problem = isTwice ? isTaken : this.#problemOf(nodePort, request)
      if (problem !== undefined) refusePort(request, index, nodePort, problem)
      this.#offer(nodePort, request)
      port['nodePort'] = nodePort
      if (!shared.has(number)) shared.set(number, nodePort)
    }
  }

  #giveHealthCheckPort(request: ServiceRequest): void {
    const given = integer(request.spec, 'healthCheckNodePort') ?? 0
    const problem = given === 0 ? undefined : this.#problemOf(given, request)
    if (problem !== undefined) throw healthPortRefused(given, problem)
    const port = given || this.#pick()
    this.#offer(port, request)
    request.spec['healthCheckNodePort'] = port
  }

  #problemOf(port: number, { owner }: ServiceRequest): string | undefined {
    if (!this.#table.isAvailable(port, owner)) return isTaken
    return port < FIRST_NODE_PORT || port > LAST_NODE_PORT ? isOutOfRange : undefined
  }

  #offer(port: number, { owner, dryRun }: ServiceRequest): void {
    if (!dryRun) this.#table.offer(port, owner)
  }

  #pick(): number {
    for (let attempt = 0; attempt < maxRandomTries; attempt++) {
      const port = randomInt(FIRST_NODE_PORT, LAST_NODE_PORT + 1)
      if (this.#table.isFree(port)) return port
    }
    for (let port = FIRST_NODE_PORT; port <= LAST_NODE_PORT; port++) if (this.#table.isFree(port)) return port
    throw internalError('failed to allocate a nodePort: range is full')
  }
}

function usesNodePorts(spec: Fields): boolean {
  return text(spec, 'type') === 'NodePort' || text(spec, 'type') === 'LoadBalancer'
}

function needsHealthCheckPort(spec: Fields): boolean {
  return text(spec, 'type') === 'LoadBalancer' && text(spec, 'externalTrafficPolicy') === 'Local'
}

/** The node port that this or a later entry for the same port asks for, or zero. */
function nodePortFor(number: number, entries: readonly Fields[]): number {
  const found = entries.find((port) => integer(port, 'port') === number && has(port, 'nodePort'))
  return integer(found, 'nodePort') ?? 0
}

function refusePort(request: ServiceRequest, index: number, nodePort: number, why: string): void {
  refuseService(request, [invalidField(`spec.ports[${index}].nodePort`, nodePort, why)])
}

function healthPortRefused(port: number, why: string): Error {
  return internalError(`failed to allocate requested HealthCheck NodePort ${port}: ${why}`)
}
