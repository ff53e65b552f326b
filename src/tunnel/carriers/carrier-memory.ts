/** Which carrier reached a hub last, so that an edge behind a firewall does not wait for the other one at every reconnection. */
import type { Clock } from '../../runtime/clock.ts'

/** For how long it is remembered which carrier worked; then the better one gets another chance: firewalls change, and laptops move to other networks. */
export const CARRIER_MEMORY_MS = 600_000

export type PlainCarrier = 'tls' | 'websocket'

const preferred: readonly PlainCarrier[] = ['tls', 'websocket']
const reversed: readonly PlainCarrier[] = ['websocket', 'tls']

export class CarrierMemory {
  readonly #clock: Clock
  /** When each hub was last reached by WebSocket only. */
  readonly #fellBackAtMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** In which order to try. */
  order(hub: URL): readonly PlainCarrier[] {
    const atMs = this.#fellBackAtMs.get(hub.origin)
    if (atMs === undefined) return preferred
    return this.#clock.monotonicMs() - atMs < CARRIER_MEMORY_MS ? reversed : preferred
  }

  /** `kind` reached the hub; it counts only where something else was tried first, and until that works again. */
  worked(hub: URL, kind: PlainCarrier): void {
    if (kind === 'tls') this.#fellBackAtMs.delete(hub.origin)
    else if (this.order(hub) === preferred) this.#fellBackAtMs.set(hub.origin, this.#clock.monotonicMs())
  }

  /** Nothing worked: what was learned before says nothing about where we are now. */
  failed(hub: URL): void {
    this.#fellBackAtMs.delete(hub.origin)
  }
}
