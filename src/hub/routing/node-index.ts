/** The Nodes of a cluster as routing sees them, by watch. */
import type { KubeClient } from '../../kube/client/client.ts'
import { nodes } from '../../kube/client/kinds.ts'
import type { Node } from '../../kube/client/types.ts'
import { Reflector } from '../../kube/reflector/reflector.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { startWatch } from '../shared/watch-part.ts'
import type { DestinationHost } from './destination.ts'
import { type NodeFacts, nodeFacts } from './node-facts.ts'
import { type RouteChoice, RouteTable, type RouteTableOptions } from './route-table.ts'

export interface NodeIndexOptions extends RouteTableOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly logger: Logger
}

export class NodeIndex implements Part {
  readonly name = 'node index'
  readonly #table: RouteTable
  readonly #reflector: Reflector<Node>
  readonly #logger: Logger

  constructor({ client, clock, logger, ...table }: NodeIndexOptions) {
    this.#table = new RouteTable(table)
    this.#reflector = new Reflector(client.resource(nodes), { clock })
    this.#logger = logger
  }

  node(name: string): NodeFacts | undefined {
    return this.#table.node(name)
  }

  get contestedCount(): number {
    return this.#table.contestedCount
  }

  /** Without all Nodes nobody can say that a destination belongs to none of them. */
  choose(host: DestinationHost): RouteChoice {
    if (this.#reflector.synced) return this.#table.choose(host)
    return { kind: 'none', reason: 'unknown', message: 'the hub does not know the Nodes of its cluster yet' }
  }

  /** Resolves once all Nodes are known; rejects if the hub is not allowed to know them. */
  start(signal: AbortSignal): Promise<RunningPart> {
    return startWatch('watch the Nodes of the cluster', (...given) => this.#run(...given), signal)
  }

  async #run(signal: AbortSignal, synced: () => void, refused: (error: unknown) => void): Promise<void> {
    await this.#reflector.run(
      {
        added: (node) => this.#table.put(nodeFacts(node)),
        updated: (node) => this.#table.put(nodeFacts(node)),
        deleted: (node) => this.#table.remove(node.metadata?.name ?? ''),
        synced,
        failed: (error, retryInMs, kind) => {
          // Counts only before the first complete view; later the hub goes on with what it knows.
          if (kind === 'refused') refused(error)
          this.#logger.warn({ err: error, retryInMs }, 'the Nodes cannot be watched; going on with what is known')
        },
      },
      signal,
    )
  }
}
