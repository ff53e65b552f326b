/**
 * How many connections to targets the hub makes and holds, so that targets that do not answer cannot bind all of it, and one node
 * cannot use up what all of them share.
 */

/** Dials under way at a time: each is a socket, and perhaps a question to DNS. */
const MAX_DIALS = 2_048
/** Dials of one node: what its pods need when all start at once, and a small part of all. */
const MAX_DIALS_PER_NODE = 256
/**
 * Connections of all nodes to targets from which on they are scarce: towards one address and port, and most lead to the API
 * server, Linux has 28,232 ports of its own unless it is told otherwise.
 */
const SCARCE_TARGET_CONNECTIONS = 20_000
/** What one node may hold before it gets no more while they are scarce; a node with a hundred pods has fewer. */
const MAX_SCARCE_CONNECTIONS_PER_NODE = 256

export type DialLimit = 'dials' | 'dials-per-node' | 'connections-per-node'

export interface DialLimits {
  readonly maxDials: number
  readonly maxDialsPerNode: number
  readonly scarceConnections: number
  readonly maxScarceConnectionsPerNode: number
}

const defaultLimits: DialLimits = {
  maxDials: MAX_DIALS,
  maxDialsPerNode: MAX_DIALS_PER_NODE,
  scarceConnections: SCARCE_TARGET_CONNECTIONS,
  maxScarceConnectionsPerNode: MAX_SCARCE_CONNECTIONS_PER_NODE,
}

export class DialSlots {
  readonly #limits: DialLimits
  readonly #dials = new CountByNode()
  readonly #connections = new CountByNode()

  constructor(limits: Partial<DialLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits }
  }

  /** Dials under way. */
  get taken(): number {
    return this.#dials.total
  }

  /** Connections that were made and are open. */
  get held(): number {
    return this.#connections.total
  }

  /** For a dial: says which limit is reached, or gives what must be called once at its end. */
  take(node: string): DialLimit | (() => void) {
    const { maxDials, maxDialsPerNode, scarceConnections, maxScarceConnectionsPerNode } = this.#limits
    if (this.#dials.total >= maxDials) return 'dials'
    if (this.#dials.of(node) >= maxDialsPerNode) return 'dials-per-node'
    const isScarce = this.#connections.total >= scarceConnections
    if (isScarce && this.#connections.of(node) >= maxScarceConnectionsPerNode) return 'connections-per-node'
    return this.#dials.add(node)
  }

  /** For a connection that a dial has made: gives what must be called once when it is closed. */
  hold(node: string): () => void {
    return this.#connections.add(node)
  }
}

class CountByNode {
  readonly #ofNode = new Map<string, number>()
  total = 0

  of(node: string): number {
    return this.#ofNode.get(node) ?? 0
  }

  /** Gives what takes it back. */
  add(node: string): () => void {
    this.total += 1
    this.#ofNode.set(node, this.of(node) + 1)
    return () => this.#remove(node)
  }

  #remove(node: string): void {
    this.total -= 1
    const left = this.of(node) - 1
    if (left > 0) this.#ofNode.set(node, left)
    else this.#ofNode.delete(node)
  }
}
