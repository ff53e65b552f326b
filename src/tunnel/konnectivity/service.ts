/** The names konnectivity uses on the wire. */

/** Bidirectional stream of packets between an agent and a server. */
export const AGENT_PATH = '/AgentService/Connect'
/** Bidirectional stream of packets between an API server and a server, for one connection each. */
export const PROXY_PATH = '/ProxyService/Proxy'

export const AgentMetadata = {
  agentId: 'agentid',
  identifiers: 'agentidentifiers',
  serverId: 'serverid',
  serverCount: 'servercount',
} as const

/** The only protocol a dial may name. */
export const DIAL_PROTOCOL = 'tcp'
