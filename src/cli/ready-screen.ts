/**
 * What `causeway up` says once it serves. Scripts wait for a line that starts with `ready`; people read the rest.
 * It names only what really runs.
 */
import { formatAddress, type ListenAddress } from '../telemetry/listen.ts'

export interface ReadyFacts {
  readonly version: string
  /** The Kubernetes release whose API is spoken. */
  readonly kubernetes: string
  readonly pid: number
  readonly dataDir: string
  readonly healthAddress: ListenAddress
  /** Where the API server listens, and the kubeconfig of its administrator. */
  readonly server: string
  readonly kubeconfig: string
  /** Names of the roles that run in this process. */
  readonly roles: readonly string[]
}

export function renderReadyScreen(facts: ReadyFacts): string {
  const health = `http://${formatAddress(facts.healthAddress)}`
  const rows: readonly [string, string][] = [
    ['roles', `${facts.roles.join(', ')} (hub and edge are not in this version yet)`],
    ['server', `${facts.server}, the API of Kubernetes ${facts.kubernetes}`],
    ['try', `kubectl --kubeconfig ${facts.kubeconfig} get namespaces`],
    ['health', `${health}/readyz?verbose`],
    ['metrics', `${health}/metrics`],
    ['data', facts.dataDir],
    ['stop', `Ctrl-C, or kill ${facts.pid}`],
  ]
  const lines = rows.map(([name, value]) => `  ${name.padEnd(8)} ${value}`)
  return `ready  causeway ${facts.version}\n${lines.join('\n')}\n`
}
