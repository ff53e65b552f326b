/** Numbers about whether the API server can be reached. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { ProbeOutcome, ReachName } from './reach-core.ts'

export interface ReachNumbers {
  readonly state: ReachName
  /** For how long. */
  readonly lastsMs: number
}

export interface ReachMetrics {
  changed(to: ReachName): void
  probed(outcome: ProbeOutcome): void
}

const allStates: readonly ReachName[] = ['online', 'offline', 'refused']
const allOutcomes: readonly ProbeOutcome[] = ['ready', 'unready', 'rejected', 'failed', 'unknown']

export function createReachMetrics(registry: Registry, numbers: () => ReachNumbers): ReachMetrics {
  const registers = [registry]
  const states = new Gauge({
    name: 'causeway_edge_reach_state',
    help: 'Whether the API server can be reached: 1 for the state it is in (online, offline, refused), 0 for the others.',
    labelNames: ['state'],
    registers,
    collect: () => {
      const { state: present } = numbers()
      for (const state of allStates) states.set({ state }, state === present ? 1 : 0)
    },
  })
  const lasts: Gauge = new Gauge({
    name: 'causeway_edge_reach_state_seconds',
    help: 'For how long the API server has been in that state of reach.',
    registers,
    collect: () => lasts.set(numbers().lastsMs / 1000),
  })
  const changes = new Counter({
    name: 'causeway_edge_reach_changes_total',
    help: 'Changes of the state of reach, by the state they led to.',
    labelNames: ['state'],
    registers,
  })
  const probes = new Counter({
    name: 'causeway_edge_reach_probes_total',
    help: 'Probes of the API server by what they met: ready, unready, rejected (401), failed, unknown (not sent).',
    labelNames: ['result'],
    registers,
  })
  for (const state of allStates) changes.inc({ state }, 0)
  for (const result of allOutcomes) probes.inc({ result }, 0)
  return {
    changed: (state) => changes.inc({ state }),
    probed: (result) => probes.inc({ result }),
  }
}
