/** Node ports: given to the ports of a Service that has them, and to the health checks of a load balancer. */
import { randomInt } from 'node:crypto'
import { internalError } from '../../kube/status/availability-errors.ts'
import { invalidField, tooManyField } from '../../kube/status/field-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Fields, flag, has, integer, structs, text } from '../kinds/fields.ts'
import { AllocationTable } from './allocation-table.ts'
import { nodePortsOf } from './service-claims.ts'
import type { ServiceLocks } from './service-locks.ts'
import { refuseService, type ServiceRequest } from './service-request.ts'

/** The range that Kubernetes uses by default. */
export const FIRST_NODE_PORT = 30_000
export const LAST_NODE_PORT = 32_767

/** After so many misses the range is nearly full, and searching in order is faster. */
const maxRandomTries = 64
const isTaken = 'provided port is already allocated'
const isOutOfRange = `provided port is not in the valid range. The range of valid ports is ${FIRST_NODE_PORT}-${LAST_NODE_PORT}`

/** Node ports of one Service: each is locked by an entry of its own, and a store writes only so many at once. */
const MAX_NODE_PORTS = 100

export class NodePorts {
  readonly #table: AllocationTable<number>
  readonly #locks: ServiceLocks

  constructor(clock: Clock, locks: ServiceLocks) {
    this.#table = new AllocationTable(clock)
    this.#locks = locks
  }

  /** Takes note of what a stored Service has; nothing once it is gone. */
  hold(owner: string, spec: Fields): void {
    this.#table.hold(owner, nodePortsOf(spec))
  }

  isAvailable(port: number, owner: string): boolean {
    return this.#table.isAvailable(port, owner) && !this.#locks.isTaken({ type: 'port', port }, owner)
  }

  release(port: number, owner: string): void {
    this.#table.release(port, owner)
  }

  /** Puts another port in place of one that somebody else got; throws when the client wanted that very one. */
  replace(spec: Fields, { owner, name }: Pick<ServiceRequest, 'owner' | 'name'>, lost: number): void {
    const ports = structs(spec, 'ports')
    const isHealthPort = integer(spec, 'healthCheckNodePort') === lost
    if (!this.#table.wasPicked(lost, owner)) {
      if (isHealthPort) throw healthPortRefused(lost, isTaken)
      const index = ports.findIndex((port) => integer(port, 'nodePort') === lost)
      refusePort({ name }, index, lost, isTaken)
    }
    this.#table.release(lost, owner)
    const instead = this.#pick()
    this.#table.offer(instead, owner, true)
    this.#table.confirm(instead, owner)
    for (const port of ports) if (integer(port, 'nodePort') === lost) port['nodePort'] = instead
    if (isHealthPort) spec['healthCheckNodePort'] = instead
  }

  give(request: ServiceRequest): void {
    const { spec, old } = request
    if (usesNodePorts(spec)) this.#givePorts(request)
    if (nodePortsOf(spec).length > MAX_NODE_PORTS)
      refuseService(request, [tooManyField('spec.ports', structs(spec, 'ports').length, MAX_NODE_PORTS)])
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
      // What a sibling got is offered already.
      if (shared.get(number) !== nodePort) this.#offer(nodePort, request, given === 0 && sibling === 0)
      port['nodePort'] = nodePort
      if (!shared.has(number)) shared.set(number, nodePort)
    }
  }

  #giveHealthCheckPort(request: ServiceRequest): void {
    const given = integer(request.spec, 'healthCheckNodePort') ?? 0
    const problem = given === 0 ? undefined : this.#problemOf(given, request)
    if (problem !== undefined) throw healthPortRefused(given, problem)
    const port = given || this.#pick()
    this.#offer(port, request, given === 0)
    request.spec['healthCheckNodePort'] = port
  }

  #problemOf(port: number, { owner }: ServiceRequest): string | undefined {
    if (!this.isAvailable(port, owner)) return isTaken
    return port < FIRST_NODE_PORT || port > LAST_NODE_PORT ? isOutOfRange : undefined
  }

  #offer(port: number, { owner, dryRun }: ServiceRequest, wasPicked: boolean): void {
    if (!dryRun) this.#table.offer(port, owner, wasPicked)
  }

  #pick(): number {
    for (let attempt = 0; attempt < maxRandomTries; attempt++) {
      const port = randomInt(FIRST_NODE_PORT, LAST_NODE_PORT + 1)
      if (this.#isFree(port)) return port
    }
    for (let port = FIRST_NODE_PORT; port <= LAST_NODE_PORT; port++) if (this.#isFree(port)) return port
    throw internalError('failed to allocate a nodePort: range is full')
  }

  #isFree(port: number): boolean {
    return this.#table.isFree(port) && !this.#locks.isTaken({ type: 'port', port })
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

function refusePort(request: Pick<ServiceRequest, 'name'>, index: number, nodePort: number, why: string): void {
  refuseService(request, [invalidField(`spec.ports[${index}].nodePort`, nodePort, why)])
}

function healthPortRefused(port: number, why: string): Error {
  return internalError(`failed to allocate requested HealthCheck NodePort ${port}: ${why}`)
}
