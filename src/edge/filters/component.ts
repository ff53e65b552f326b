/**
 * Which program is asking. A verified identity decides; only who has none that we know is taken at the word of its
 * User-Agent. That is safe: a filter changes what somebody sees, never what somebody may do.
 */
import type { Component } from './filter.ts'
import type { FilterRequest } from './filter-plan.ts'

const kubelet: Component = 'kubelet'
const kubeProxy: Component = 'kube-proxy'
/** As kubeadm installs it, and as a certificate names it. */
const otherKubeProxies = ['system:serviceaccount:kube-system:kube-proxy', 'system:kube-proxy']

/** A User-Agent is as long as its client likes; no component has a name like that. */
const MAX_COMPONENT_LENGTH = 63

/** The component that the User-Agent names; empty for none. */
export function claimedComponent(userAgent: string): Component {
  const name = userAgent.slice(0, MAX_COMPONENT_LENGTH + 1).split('/', 1)[0] ?? ''
  return name.length > MAX_COMPONENT_LENGTH ? '' : name.trim().toLowerCase()
}

export interface Asker {
  readonly component: Component
  /** Whether that is certain, not merely said. */
  readonly isVerified: boolean
}

/** `hubNamespace` is where the hub keeps the ServiceAccount whose tokens it hands to nodes for kube-proxy. */
export function isKubeProxy(user: string, hubNamespace: string): boolean {
  return otherKubeProxies.includes(user) || user === `system:serviceaccount:${hubNamespace}:kube-proxy`
}

/** Reads who asks from identities. */
export class Components {
  readonly #hubNamespace: () => string

  constructor(hubNamespace: () => string) {
    this.#hubNamespace = hubNamespace
  }

  /**
   * `mayMatter` says whether a component would be filtered: where no answer would make a difference, the identity is not
   * asked for. A token can only be that of kube-proxy; the kubelet has the node's certificate.
   */
  async of(request: FilterRequest, mayMatter: (component: Component) => boolean): Promise<Asker> {
    if (request.isNode) return { component: kubelet, isVerified: true }
    const claimed: Asker = { component: claimedComponent(request.userAgent), isVerified: false }
    if (!mayMatter(kubeProxy) && !mayMatter(claimed.component)) return claimed
    const user = await request.identify()
    const isKnown = user !== undefined && isKubeProxy(user, this.#hubNamespace())
    return isKnown ? { component: kubeProxy, isVerified: true } : claimed
  }
}
