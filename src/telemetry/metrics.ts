/**
 * Metrics live in explicit registries, never in prom-client's global one: several roles can run in one process (`up`, and
 * every test) without seeing each other's numbers.
 *
 * Names: `causeway_<role or foundation>_<what>_<unit>`, counters end in `_total`, units are `seconds` and `bytes`, never
 * fractions or multiples. Labels have few values known in advance: never a pod, a path, an address or an error's text.
 */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'

export const METRIC_NAME = /^causeway_[a-z][a-z0-9]*(_[a-z0-9]+)+$/

export interface BuildInfo {
  readonly version: string
}

/** The registry of one role, with what every role says about itself: its build and its process. */
export function createRoleRegistry(role: string, build: BuildInfo): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'causeway_build_info',
    help: 'Always 1; the labels say what is running.',
    labelNames: ['role', 'version', 'node_version'],
    registers: [registry],
  }).set({ role, version: build.version, node_version: process.versions.node }, 1)
  return registry
}
