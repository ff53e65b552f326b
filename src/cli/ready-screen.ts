/**
 * What `causeway up` says once it serves. Scripts wait for a line that starts with `ready`; people read the rest.
 * It names only what really runs.
 */
import { formatAddress, type ListenAddress } from '../network/listen.ts'

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
  readonly hub: string
  /** Names of the nodes. */
  readonly edges: readonly string[]
  /** Where the first edge plays API server. */
  readonly endpoint: ListenAddress | undefined
  /** Where the first edge leads to the API server through the tunnel. */
  readonly throughEdge: ListenAddress | undefined
}

export function renderReadyScreen(facts: ReadyFacts): string {
  const health = `http://${formatAddress(facts.healthAddress)}`
  const rows: readonly [string, string][] = [
    ['server', `${facts.server}, the API of Kubernetes ${facts.kubernetes}`],
    ['hub', facts.hub],
    ['edges', facts.edges.join(', ') || 'none'],
    ...endpointRow(facts),
    ...asPod(facts),
    ['try', `kubectl --kubeconfig ${facts.kubeconfig} get namespaces`],
    ...throughEdge(facts),
    ['nodes', `npx causeway nodes --data-dir ${facts.dataDir}`],
    ['health', `${health}/readyz?verbose`],
    ['metrics', `${health}/metrics`],
    ['data', facts.dataDir],
    ['stop', `Ctrl-C, or kill ${facts.pid}`],
  ]
  const lines = rows.map(([name, value]) => `  ${name.padEnd(8)} ${value}`)
  return `ready  causeway ${facts.version}\n${lines.join('\n')}\n`
}

function endpointRow({ endpoint, edges: [node] }: ReadyFacts): [string, string][] {
  if (endpoint === undefined) return []
  return [['endpoint', `https://${formatAddress(endpoint)}, the API server as programs on ${node} see it`]]
}

/** The main thing: a program as a pod on that edge would run. */
function asPod({ endpoint, edges, dataDir }: ReadyFacts): [string, string][] {
  const [node] = edges
  if (endpoint === undefined || node === undefined) return []
  return [['next', `npx causeway run --node ${node} --data-dir ${dataDir} -- kubectl get pods`]]
}

function throughEdge({ throughEdge: address, kubeconfig }: ReadyFacts): [string, string][] {
  if (address === undefined) return []
  return [['edge', `kubectl --kubeconfig ${kubeconfig} --server https://${formatAddress(address)} get namespaces`]]
}
