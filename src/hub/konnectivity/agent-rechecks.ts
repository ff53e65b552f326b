/**
 * Looks again, every few seconds, at those agents about whom there is a doubt, and ends whoever may not be its node any more. An
 * agent whose node has rotated its key is given the same time as a session to come back with the new one.
 */

import type { Guard } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { WorkGate } from '../port/overload.ts'
import { Refusal } from '../refusal.ts'
import { ROTATED_KEY_GRACE_MS, SESSION_DRAIN_MS } from '../sessions/session-limits.ts'
import type { AgentRoute } from './agent-route.ts'

/** How often each agent is held against the claim on its name, the trusted CAs and the age of its review: as sessions are. */
export const AGENT_RECHECK_MS = 5_000
/** Agents that the cluster is asked about at a time; after a restart they all come, and all fall due, at once. */
const MAX_AGENT_RECHECKS_IN_FLIGHT = 32

export class AgentRechecks {
  readonly #clock: Clock
  readonly #agents: () => readonly AgentRoute[]
  readonly #guard: Guard
  readonly #gate = new WorkGate(MAX_AGENT_RECHECKS_IN_FLIGHT, Number.POSITIVE_INFINITY)
  readonly #underWay = new Set<AgentRoute>()
  /** Since when, on the monotonic clock, another key of the same holder is in use. */
  readonly #supersededMs = new WeakMap<AgentRoute, number>()
  #isScheduled = false

  constructor(clock: Clock, agents: () => readonly AgentRoute[], guard: Guard) {
    this.#clock = clock
    this.#agents = agents
    this.#guard = guard
  }

  /** Goes on for as long as there are agents. */
  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#clock.schedule(AGENT_RECHECK_MS, () => {
      this.#isScheduled = false
      const agents = this.#agents()
      if (agents.length > 0) this.schedule()
      for (const route of agents) if (route.identity.isDoubtful()) this.#guard(() => this.recheck(route))
    })
  }

  /** Whoever is being looked at already is not asked about twice. */
  async recheck(route: AgentRoute): Promise<void> {
    if (this.#underWay.has(route)) return
    if (route.identity.isSuperseded()) {
      this.#supersede(route)
      return
    }
    this.#supersededMs.delete(route)
    this.#underWay.add(route)
    try {
      await this.#gate.run(() => route.identity.recheck(), new AbortController().signal)
    } catch (error) {
      // Only a judgement ends it; a cluster that cannot be asked does not.
      if (!(error instanceof Refusal) || error.status >= 500) return
      route.end(error.code === 'certificate-expired' ? 'expired' : 'refused')
    } finally {
      this.#underWay.delete(route)
    }
  }

  #supersede(route: AgentRoute): void {
    const nowMs = this.#clock.monotonicMs()
    const sinceMs = this.#supersededMs.get(route) ?? nowMs
    this.#supersededMs.set(route, sinceMs)
    if (nowMs - sinceMs >= ROTATED_KEY_GRACE_MS + SESSION_DRAIN_MS) route.end('rotated')
    else if (nowMs - sinceMs >= ROTATED_KEY_GRACE_MS) route.drain('rotated')
  }
}
