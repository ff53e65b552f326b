/** The claims as a watch shows them: perhaps a moment old, and told to whoever listens as they change. */
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { ConfigMap } from '../../kube/client/types.ts'
import { Reflector } from '../../kube/reflector/reflector.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { claimName } from '../shared/names.ts'
import { startWatch } from '../shared/watch-part.ts'
import type { Claim } from './claim.ts'
import { claimOf } from './claim-object.ts'
import { Freshness } from './freshness.ts'
import { ProvenSource } from './proven-source.ts'

export type ClaimListener = (node: string, claim: Claim | undefined) => void

export class ClaimView {
  /** When the view was last known to be right. */
  readonly freshness: Freshness
  readonly #reflector: Reflector<ConfigMap>
  readonly #logger: Logger
  /** By the name of the object: what stands inside may be damaged. */
  readonly #claims = new Map<string, Claim>()
  readonly #listeners = new Set<ClaimListener>()

  constructor(maps: ResourceClient<ConfigMap>, clock: Clock, logger: Logger) {
    this.#logger = logger
    this.freshness = new Freshness(clock)
    this.#reflector = new Reflector(new ProvenSource(maps, clock, this.freshness), { clock })
  }

  get all(): readonly Claim[] {
    return [...this.#claims.values()]
  }

  get(node: string): Claim | undefined {
    return this.#claims.get(claimName(node))
  }

  onChange(listener: ClaimListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves once the view is complete for the first time; rejects if the hub is not allowed to have it. */
  start(signal: AbortSignal): Promise<RunningPart> {
    return startWatch('watch the claims of nodes', (...given) => this.#run(...given), signal)
  }

  async #run(signal: AbortSignal, synced: () => void, refused: (error: unknown) => void): Promise<void> {
    await this.#reflector.run(
      {
        added: (object) => this.#put(object),
        updated: (object) => this.#put(object),
        deleted: (object) => this.#remove(object),
        synced,
        failed: (error, retryInMs, kind) => {
          this.freshness.failed(error)
          // Counts only before the first complete view; later the hub goes on with what it knows, for a while.
          if (kind === 'refused') refused(error)
          // That the view grows too old is told once, elsewhere; every single failure interests nobody.
          const level = this.#reflector.synced ? 'debug' : 'warn'
          this.#logger[level]({ err: error, retryInMs }, 'the claims cannot be watched; trying again')
        },
      },
      signal,
    )
  }

  #put(object: ConfigMap): void {
    try {
      const claim = claimOf(object)
      this.#claims.set(object.metadata?.name ?? '', claim)
      this.#tell(claim.node, claim)
    } catch (error) {
      this.#logger.error({ err: error }, 'a claim is damaged; its node is refused until it is repaired or forgotten')
      this.#remove(object)
    }
  }

  #remove({ metadata }: ConfigMap): void {
    const name = metadata?.name ?? ''
    const before = this.#claims.get(name)
    this.#claims.delete(name)
    if (before !== undefined) this.#tell(before.node, undefined)
  }

  #tell(node: string, claim: Claim | undefined): void {
    for (const listener of this.#listeners) {
      try {
        listener(node, claim)
      } catch (error) {
        this.#logger.error({ node, err: error }, 'a listener for claims failed')
      }
    }
  }
}
