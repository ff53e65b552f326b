/** What the certificates that the cluster signs for nodes are counted by. */
import { Counter, type Registry } from 'prom-client'

export type CsrDecision = 'approved' | 'denied' | 'failed'
export type RequestOutcome = 'issued' | 'pending' | 'refused'

export class CertificateMetrics {
  readonly #decisions: Counter<'decision'>
  readonly #requests: Counter<'purpose' | 'outcome'>

  constructor(registry: Registry) {
    const registers = [registry]
    this.#decisions = new Counter({
      name: 'causeway_hub_csr_decisions_total',
      help: 'Decisions of this hub on CertificateSigningRequests that are, or claim to be, its own.',
      labelNames: ['decision'],
      registers,
    })
    this.#requests = new Counter({
      name: 'causeway_hub_node_certificate_requests_total',
      help: 'Requests of nodes for certificates that the cluster signs, by how they ended.',
      labelNames: ['purpose', 'outcome'],
      registers,
    })
  }

  decided(decision: CsrDecision): void {
    this.#decisions.inc({ decision })
  }

  requested(purpose: string, outcome: RequestOutcome): void {
    this.#requests.inc({ purpose, outcome })
  }
}
