/**
 * Where hubs may lead streams from this node: to its kubelet, and to what the operator listed. Everything else is denied. A hub
 * is trusted to be the hub, not to know this network.
 */
import { canonicalHost, canonicalIp } from '../../network/host.ts'
import { type HostPort, parseHostPort } from '../../network/host-port.ts'
import { specialPrefixOf } from '../../network/special-address.ts'
import { type DestinationRule, ruleCovers } from './destination-rule.ts'

/** Where every kubelet serves `logs`, `exec` and metrics. */
const KUBELET_PORT = 10_250

/** Destinations of which is kept whether a rule covers them: more than hubs ask for, and asking the rules is slow. */
export const MAX_KEPT_COVERS = 1_024

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

export type DestinationDecision =
  | {
      readonly kind: 'kubelet' | 'address'
      /** To be tried in turn. */
      readonly candidates: readonly HostPort[]
      /** Asked with each address a name turns out to have: a name must not lead where no rule does. */
      readonly permits: (ip: string) => boolean
    }
  | { readonly kind: 'denied'; readonly text: string }

export interface DestinationPolicyOptions {
  /** Our name in the cluster. */
  readonly node: string
  readonly rules: readonly DestinationRule[]
  /** The addresses of this machine, at the time of asking. */
  readonly ownAddresses: () => readonly string[]
}

export class DestinationPolicy {
  readonly #node: string
  readonly #rules: readonly DestinationRule[]
  readonly #ownAddresses: () => readonly string[]
  readonly #covers = new Map<string, boolean>()

  constructor({ node, rules, ownAddresses }: DestinationPolicyOptions) {
    this.#node = canonicalHost(node) ?? node
    this.#rules = rules
    this.#ownAddresses = ownAddresses
  }

  decide(text: string): DestinationDecision {
    const asked = parseHostPort(text)
    if (asked === undefined) return denied(`${JSON.stringify(text)} is no destination; name HOST:PORT`)
    const kubelet = this.#kubeletFor(asked)
    if (kubelet !== undefined) return { kind: 'kubelet', candidates: kubelet, permits: () => true }
    if (!this.#keptCover(text, asked))
      return denied(`node ${this.#node} does not let ${text} be reached; it allows destinations by --allow-destination`)
    return { kind: 'address', candidates: [asked], permits: (ip) => this.#permits(asked, ip) }
  }

  /** A kubelet serves all addresses of its node, or only the one it was told to: so loopback first, then what was asked for. */
  #kubeletFor({ host, port }: HostPort): readonly HostPort[] | undefined {
    if (port !== KUBELET_PORT) return undefined
    const local = { host: '127.0.0.1', port }
    if (host === this.#node || loopbackNames.has(host)) return [local]
    const isOwn = this.#ownAddresses().some((own) => canonicalIp(own) === host)
    return isOwn ? [local, { host, port }] : undefined
  }

  #keptCover(text: string, asked: HostPort): boolean {
    const kept = this.#covers.get(text)
    if (kept !== undefined) return kept
    if (this.#covers.size >= MAX_KEPT_COVERS) this.#covers.clear()
    const isCovered = this.#isCovered(asked)
    this.#covers.set(text, isCovered)
    return isCovered
  }

  #isCovered(asked: HostPort): boolean {
    return this.#rules.some((rule) => ruleCovers(rule, asked))
  }

  #permits({ host, port }: HostPort, ip: string): boolean {
    const resolved = canonicalIp(ip)
    if (resolved === undefined) return false
    if (specialPrefixOf(resolved) === undefined) return true
    const isNamedLoopback = host === 'localhost' && loopbackNames.has(resolved)
    return isNamedLoopback || this.#isCovered({ host: resolved, port })
  }
}

function denied(text: string): DestinationDecision {
  return { kind: 'denied', text }
}
