/**
 * What is tried, in this order, for a destination: the node it belongs to, a node that carries the label of default routes,
 * any node. The first holds even where it is not listed.
 */
export const PROXY_STRATEGIES = ['destHost', 'defaultRoute', 'default'] as const
export type ProxyStrategy = (typeof PROXY_STRATEGIES)[number]
