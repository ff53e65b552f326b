/** Accept negotiation with a memory: clients repeat their headers with every request, and reading them again is slow. */
import { type NegotiatedOutput, negotiateOutput, type OutputRequest } from '../../kube/negotiation.ts'
import type { RouteOffer } from '../../kube/negotiation-offers.ts'

/** More different headers than a cluster's clients have; beyond it the memory begins anew, so that nobody can fill it. */
export const MAX_KEPT_NEGOTIATIONS = 256

export class KeptNegotiations {
  readonly #outputs = new Map<RouteOffer, Map<string, NegotiatedOutput>>()

  /** What `negotiateOutput` says, refusals included; those are worked out each time. */
  negotiate(request: OutputRequest, offer: RouteOffer): NegotiatedOutput {
    const { accept, userAgent, pretty, includeObject, stream } = request
    const key = JSON.stringify([accept, userAgent, pretty, includeObject, stream])
    const kept = this.#keptFor(offer)
    let output = kept.get(key)
    if (output === undefined) {
      output = negotiateOutput(request, offer)
      if (kept.size >= MAX_KEPT_NEGOTIATIONS) kept.clear()
      kept.set(key, output)
    }
    return output
  }

  #keptFor(offer: RouteOffer): Map<string, NegotiatedOutput> {
    let kept = this.#outputs.get(offer)
    if (kept === undefined) {
      kept = new Map()
      this.#outputs.set(offer, kept)
    }
    return kept
  }
}
