/**
 * Which nodes may carry a connection to a destination. What must stay true: a destination that belongs to a known Node goes
 * through that node or nowhere, whatever the strategies; one that several nodes claim goes nowhere; one that means another thing
 * on every machine (loopback, link-local, metadata services) goes to the Node that lists it, or nowhere.
 *
 * Nodes report their own addresses, so a claim can be a lie. It stops traffic to what another Node claims too, and it attracts
 * traffic to what no other Node claims: an address outside the cluster, or a Service outside `serviceCidrs`. It never attracts
 * the name of another Node, what another Node claims, or a Service inside `serviceCidrs`.
 */
import { EVERY_LABEL, type LabelSelector, matchesLabels, parseLabelSelector } from '../../kube/selectors/label.ts'
import { CidrOwners } from './cidr-owners.ts'
import type { DestinationHost } from './destination.ts'
import { type NodeFacts, sameFacts } from './node-facts.ts'
import { Owners } from './owners.ts'
import type { ProxyStrategy } from './proxy-strategies.ts'
import { isSpecialHost } from './special-host.ts'

/** Marks nodes for `defaultRoute`. The prefix is one that kubelets may not give to themselves. */
export const DEFAULT_ROUTE_LABEL = 'node-restriction.kubernetes.io/causeway-default-route'

export interface RouteTableOptions {
  readonly strategies: readonly ProxyStrategy[]
  /** Which nodes serve `default`; without it every node does, registered as a Node or not. */
  readonly defaultSelector?: LabelSelector | undefined
  /** Addresses of Services: they belong to no node, whatever Nodes say. */
  readonly serviceCidrs?: readonly string[]
}

export interface NodeSelection {
  has(node: string): boolean
}

export type RouteChoice =
  | { readonly kind: 'node'; readonly node: string }
  /** Any node: the first of the tiers that has a live node serves. */
  | { readonly kind: 'any'; readonly tiers: readonly NodeSelection[] }
  | { readonly kind: 'none'; readonly reason: 'contested' | 'unowned' | 'unknown'; readonly message: string }

/** Destinations whose choice is kept until a Node changes: working it out costs more than all else that routing does. */
export const MAX_KEPT_CHOICES = 1_024

const nobody: ReadonlySet<string> = new Set()

interface Tier extends NodeSelection {
  readonly selector: LabelSelector
  readonly members: Set<string>
}

export class RouteTable {
  readonly #nodes = new Map<string, NodeFacts>()
  readonly #hostNames = new Owners()
  readonly #addresses = new Owners()
  readonly #podCidrs = new CidrOwners()
  readonly #serviceCidrs = new CidrOwners()
  readonly #tiers: readonly Tier[]
  readonly #choices = new Map<string, RouteChoice>()

  constructor({ strategies, defaultSelector = EVERY_LABEL, serviceCidrs = [] }: RouteTableOptions) {
    for (const cidr of serviceCidrs) this.#serviceCidrs.add(cidr, '')
    this.#tiers = strategies.flatMap((strategy) => {
      if (strategy === 'destHost') return []
      return tier(strategy === 'default' ? defaultSelector : parseLabelSelector(DEFAULT_ROUTE_LABEL))
    })
  }

  node(name: string): NodeFacts | undefined {
    return this.#nodes.get(name)
  }

  put(facts: NodeFacts): void {
    const before = this.#nodes.get(facts.name)
    if (before !== undefined && sameFacts(before, facts)) return
    this.remove(facts.name)
    this.#choices.clear()
    const { name } = facts
    this.#nodes.set(name, facts)
    for (const hostName of facts.hostNames) this.#hostNames.add(hostName, name)
    for (const address of facts.addresses) this.#addresses.add(address, name)
    for (const cidr of facts.podCidrs) this.#podCidrs.add(cidr, name)
    for (const { selector, members } of this.#tiers) if (matchesLabels(selector, facts.labels)) members.add(name)
  }

  remove(name: string): void {
    const facts = this.#nodes.get(name)
    if (facts === undefined) return
    this.#choices.clear()
    this.#nodes.delete(name)
    for (const hostName of facts.hostNames) this.#hostNames.remove(hostName, name)
    for (const address of facts.addresses) this.#addresses.remove(address, name)
    for (const cidr of facts.podCidrs) this.#podCidrs.remove(cidr, name)
    for (const { members } of this.#tiers) members.delete(name)
  }

  choose(host: DestinationHost): RouteChoice {
    // An address is never spelled like a name, so that the text alone says which host it is.
    const kept = this.#choices.get(host.text)
    if (kept !== undefined) return kept
    const choice = this.#workOut(host)
    if (this.#choices.size >= MAX_KEPT_CHOICES) this.#choices.clear()
    this.#choices.set(host.text, choice)
    return choice
  }

  get keptChoices(): number {
    return this.#choices.size
  }

  #workOut(host: DestinationHost): RouteChoice {
    const [owner, ...others] = this.#ownersOf(host)
    if (owner === undefined) return this.#chooseForNobodys(host)
    if (others.length === 0) return { kind: 'node', node: owner }
    const claimants = [owner, ...others].sort().slice(0, 4).join(', ')
    const message = `${host.text} is claimed by ${others.length + 1} nodes (${claimants}): correct their addresses or pod CIDRs`
    return { kind: 'none', reason: 'contested', message }
  }

  /** Names, addresses and ranges that several nodes claim in the same words. */
  get contestedCount(): number {
    return this.#hostNames.contestedCount + this.#addresses.contestedCount + this.#podCidrs.contestedCount
  }

  #chooseForNobodys(host: DestinationHost): RouteChoice {
    const { text } = host
    if (isSpecialHost(host)) {
      const message = `${text} means another thing on every machine, and no Node has it as its address: name the node`
      return { kind: 'none', reason: 'unowned', message }
    }
    if (this.#tiers.length > 0) return { kind: 'any', tiers: this.#tiers }
    const message = `${text} is no name, address or pod address of a node, and no strategy is for others`
    return { kind: 'none', reason: 'unowned', message }
  }

  /** The API server sees to it that a Node's own name is one of a kind: what others say of it does not count. */
  #ownersOf(host: DestinationHost): ReadonlySet<string> {
    const { kind, text } = host
    if (kind === 'name') return this.#nodes.has(text) ? new Set([text]) : this.#hostNames.of(text)
    if (this.#serviceCidrs.of(text).size > 0) return nobody
    const byAddress = this.#addresses.of(text)
    // No pod has such an address, however wide a range is.
    if (isSpecialHost(host)) return byAddress
    const byRange = this.#podCidrs.of(text)
    return byRange.size === 0 ? byAddress : new Set([...byAddress, ...byRange])
  }
}

function tier(selector: LabelSelector): Tier {
  const members = new Set<string>()
  const isEveryNode = selector === EVERY_LABEL
  return { selector, members, has: (node) => isEveryNode || members.has(node) }
}
