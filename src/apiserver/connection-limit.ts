/** Apart, so that the command line can show it without loading an API server. */

/**
 * Connections that one address may have, of the listener's `MAX_CONNECTIONS`: the other half is for others. A hub is one address
 * for all its edges, each of which has a few, and so is a load balancer: those need more. Loopback is an address like any
 * other: whoever comes through a tunnel or a proxy on this machine comes from there.
 */
export const DEFAULT_CONNECTIONS_PER_ADDRESS = 5_000
