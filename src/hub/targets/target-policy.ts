/**
 * Where the streams of a node may lead: to the API server, and to what the operator listed. Everything else is denied. The
 * only input is the node that the session's certificate proved; what a stream says of its source counts for nothing.
 */

import { canonicalIp } from '../../network/host.ts'
import { type HostPort, parseHostPort } from '../../network/host-port.ts'
import { isLoopbackAddress, isSpecialAddress } from '../../network/special-address.ts'
import { API_SERVER_TARGET } from '../../protocol/names.ts'
import { ruleCovers, ruleNames, type TargetRule } from './target-rule.ts'

export type TargetDecision =
  | { readonly kind: 'api-server' }
  | {
      readonly kind: 'address'
      readonly address: HostPort
      /** Asked again with each address the host turns out to have: a name must not lead where no rule does. */
      readonly permits: (ip: string) => boolean
      /** Whether the target is one of the API server's, asked for by its address. */
      readonly isApiServer: boolean
    }
  | { readonly kind: 'denied'; readonly text: string }

export interface TargetPolicyOptions {
  readonly rules: readonly TargetRule[]
  /** Any node may also ask for one of these by its address. */
  readonly apiServers: readonly HostPort[]
}

export class TargetPolicy {
  readonly #rules: readonly TargetRule[]
  readonly #apiServers: readonly HostPort[]

  constructor({ rules, apiServers }: TargetPolicyOptions) {
    this.#rules = rules
    this.#apiServers = apiServers
  }

  decide(node: string, target: string): TargetDecision {
    if (target === API_SERVER_TARGET) return { kind: 'api-server' }
    const address = parseHostPort(target)
    if (address === undefined) {
      const text = `${JSON.stringify(target)} is no target; name ${API_SERVER_TARGET} or HOST:PORT`
      return { kind: 'denied', text }
    }
    if (address.host === API_SERVER_TARGET) return { kind: 'api-server' }
    if (this.#apiServers.some(({ host, port }) => host === address.host && port === address.port))
      return { kind: 'address', address, permits: () => true, isApiServer: true }
    if (!this.#rules.some((rule) => ruleCovers(rule, node, address))) {
      const text = `node ${node} may not open ${target}; the hub allows targets by --allow-target HOST:PORT`
      return { kind: 'denied', text }
    }
    return { kind: 'address', address, permits: (ip) => this.#permits(node, address, ip), isApiServer: false }
  }

  /** A special address must be listed itself. `localhost` says by its name what it is. */
  #permits(node: string, { host, port }: HostPort, ip: string): boolean {
    const resolved = canonicalIp(ip)
    if (resolved === undefined) return false
    if (!isSpecialAddress(resolved)) return true
    const isNamed = (name: string): boolean => this.#rules.some((rule) => ruleNames(rule, node, { host: name, port }))
    return isNamed(resolved) || (host === 'localhost' && isNamed(host) && isLoopbackAddress(resolved))
  }
}
