/** Writes at random to a few ConfigMaps of one namespace, straight to the API server: makes, changes, deletes, makes again. */
import { configMaps } from '../../src/kube/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type ChaosWorld, NAMESPACE } from './chaos-world.ts'
import type { Dice } from './dice.ts'

const objects = 40
const mostAtOnce = 8
const pauseMs = 20
const writeTimeoutMs = 5_000

export class Writer {
  readonly #world: ChaosWorld
  readonly #dice: Dice
  readonly counts = { created: 0, updated: 0, deleted: 0, failed: 0 }
  isPaused = false
  #round = 0

  constructor(world: ChaosWorld, dice: Dice) {
    this.#world = world
    this.#dice = dice
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Now and then many at once, as a rollout does.
      const count = this.#dice.chance(0.1) ? mostAtOnce * 4 : this.#dice.between(1, mostAtOnce)
      if (!this.isPaused) await Promise.all(Array.from({ length: count }, () => this.#write()))
      await systemClock.sleep(pauseMs, signal).catch(() => {})
    }
  }

  async #write(): Promise<void> {
    const name = `object-${this.#dice.between(0, objects - 1)}`
    const all = this.#world.admin.resource(configMaps).in(NAMESPACE)
    const call = { signal: AbortSignal.timeout(writeTimeoutMs), maxRetries: 0 }
    const labels: Record<string, string> = { app: 'chaos', ...(this.#dice.chance(0.5) && { on: '1' }) }
    const data = { round: String(this.#round++), filler: 'x'.repeat(this.#dice.between(0, 2_000)) }
    const wish = this.#dice.fraction()
    try {
      if (wish < 0.25) {
        await all.delete(name, {}, call)
        this.counts.deleted += 1
        if (this.#dice.chance(0.5)) return
        await all.create({ metadata: { name, labels }, data }, {}, call)
        this.counts.created += 1
        return
      }
      const known = await all.get(name, {}, call).catch(() => undefined)
      if (known === undefined) {
        await all.create({ metadata: { name, labels }, data }, {}, call)
        this.counts.created += 1
        return
      }
      await all.update({ ...known, metadata: { ...known.metadata, labels }, data }, {}, call)
      this.counts.updated += 1
    } catch {
      // Two met at one object, or the API server is away.
      this.counts.failed += 1
    }
  }
}
