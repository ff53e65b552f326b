/** What konnectivity agents do at the hub. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface AgentMetrics {
  readonly agents: Gauge
  /** Calls of agents by `ok` or the code of the refusal. */
  readonly connects: Counter<'result'>
  /** Into nodes, by `ok` or the code of the refusal. */
  readonly dials: Counter<'code'>
  /** From agents to the cloud, likewise. */
  readonly targetDials: Counter<'code'>
  readonly stalledReaders: Counter
  readonly foreignIdentifiers: Counter<'kind'>
  readonly ends: Counter<'reason'>
}

export function createAgentMetrics(registry: Registry): AgentMetrics {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers })
  return {
    agents: new Gauge({
      name: 'causeway_hub_konnectivity_agents',
      help: 'Connected konnectivity agents.',
      registers,
    }),
    connects: counter(
      'causeway_hub_konnectivity_connects_total',
      'Calls of konnectivity agents by result: ok, or the code of the refusal.',
      ['result'],
    ),
    dials: counter(
      'causeway_hub_konnectivity_dials_total',
      'Connections into nodes asked of konnectivity agents, by result: ok, or the code of the refusal.',
      ['code'],
    ),
    targetDials: counter(
      'causeway_hub_konnectivity_target_dials_total',
      'Connections to the cloud asked for by konnectivity agents, by result: ok, or the code of the refusal.',
      ['code'],
    ),
    stalledReaders: counter(
      'causeway_hub_konnectivity_stalled_readers_total',
      'Connections ended because nobody took their bytes while others needed the link.',
      [],
    ),
    foreignIdentifiers: counter(
      'causeway_hub_konnectivity_foreign_identifiers_total',
      'Identifiers claimed by konnectivity agents that are not of their own Node, by kind.',
      ['kind'],
    ),
    ends: counter(
      'causeway_hub_konnectivity_ends_total',
      'Ends of the calls of konnectivity agents: left, dead, limit, refused, expired, stopping, rotated, flood (of packets that move nothing), or broken.',
      ['reason'],
    ),
  }
}
