/**
 * What an edge does once it knows who it is, put together: links to the hubs, what passes over them in both directions, and
 * the endpoint that plays API server.
 */
import type { Registry } from 'prom-client'
import { addressesOfThisMachine } from '../network/own-addresses.ts'
import type { Part } from '../process/lifecycle.ts'
import type { SafetyNet } from '../process/safety-net.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Health } from '../telemetry/health.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type ClusterPins, composeEndpoint, type EdgeEndpoint, type EndpointSettings } from './compose-endpoint.ts'
import type { DestinationRule } from './destinations/destination-rule.ts'
import { createDestinations } from './destinations/destinations.ts'
import type { ForwardStatus, OpenStream } from './forwards/forward.ts'
import type { ForwardSpec } from './forwards/forward-spec.ts'
import { Forwards } from './forwards/forwards.ts'
import type { HubClient } from './hub/hub-client.ts'
import { parseHubUrls } from './hub/hub-url.ts'
import type { KeeperMetrics } from './identity/keeper-metrics.ts'
import { createAskWhy, createDialSession, type DialSessionOptions, type LinkIdentity } from './link/dial-session.ts'
import type { LinkStatus } from './link/edge-link.ts'
import { EdgeLinks } from './link/edge-links.ts'
import { createHubDial } from './link/hub-dial.ts'
import { sourceAddressTowards } from './link/source-address.ts'
import { advertiseWarning, isAlwaysThere } from './network/bind-address.ts'
import { InterfaceError, type InterfaceStatus, OwnInterface } from './network/own-interface.ts'

export interface EdgeNetworkSettings
  extends Pick<DialSessionOptions, 'carriers' | 'proxy' | 'proxyCa' | 'innerTls' | 'dial'> {
  /** What hubs may reach from this node besides its kubelet. */
  readonly destinationRules: readonly DestinationRule[]
  readonly forwards: readonly ForwardSpec[]
  /** Where forwards listen; absent: nothing listens. Put on an interface of our own if the machine does not have it. */
  readonly bindAddress?: string | undefined
  /** Absent: nothing plays API server here. */
  readonly endpoint?: EndpointSettings
}

export interface EdgeNetworkOptions extends EdgeNetworkSettings {
  readonly node: string
  readonly hubs: readonly string[]
  readonly identity: LinkIdentity
  readonly client: HubClient
  /** Absent: nothing is known of the API server that could be trusted, so there can be no endpoint. */
  readonly cluster: ClusterPins | undefined
  readonly rejoinAdvice: string
  readonly keeperMetrics: KeeperMetrics
  readonly dataDir: string
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly net: SafetyNet
  readonly registry: Registry
}

export interface EdgeNetworkStatus {
  readonly links: readonly LinkStatus[]
  readonly forwards: readonly ForwardStatus[]
  readonly interface: InterfaceStatus | undefined
}

export interface EdgeNetwork {
  /** In the order in which they start. */
  readonly parts: readonly Part[]
  readonly links: EdgeLinks
  /** Whether hubs take this node for who it is. */
  readonly health: () => Health
  readonly endpoint: EdgeEndpoint | undefined
  readonly status: () => EdgeNetworkStatus
}

export async function composeEdgeNetwork(options: EdgeNetworkOptions): Promise<EdgeNetwork> {
  const { carriers, proxy, proxyCa, innerTls, dial, clock, random, logger, net, registry } = options
  const { trust, pair } = options.identity
  const destinations = createDestinations({ ...options, rules: options.destinationRules })
  const links = new EdgeLinks({
    hubs: parseHubUrls(options.hubs),
    dial: createDialSession({ trust, pair, carriers, proxy, proxyCa, innerTls, dial, clock, logger }),
    askWhy: createAskWhy({ trust, pair, clock, dial: createHubDial(clock, { proxy, proxyCa, dial }) }),
    clock,
    random,
    logger,
    net,
    registry,
    serve: (stream) => destinations.serve(stream),
    sourceAddress: sourceAddressTowards,
  })
  const own = composeInterface(options)
  const forwards = composeForwards(options, links)
  const endpoint = await composeOwnEndpoint(options, links)
  return {
    // Listeners first: they stay open whatever the link does, and nothing else on the node has to be up for them.
    // The endpoint last, so that it is the first to stop: what it has under way needs the links.
    parts: [...own.parts, ...forwards, links, ...(endpoint?.parts ?? [])],
    links,
    health: () => links.health(),
    endpoint,
    status: () => ({
      links: links.status,
      forwards: forwards.flatMap(({ status }) => status),
      interface: own.status(),
    }),
  }
}

interface OwnAddresses {
  readonly parts: readonly Part[]
  readonly status: () => InterfaceStatus | undefined
}

/** One interface for every address that this machine does not have by itself. */
function composeInterface(options: EdgeNetworkOptions): OwnAddresses {
  const { bindAddress, endpoint, dataDir: owner, clock, logger, registry } = options
  const isMade = (address: string | undefined): address is string => address !== undefined && !isAlwaysThere(address)
  const addresses = [bindAddress, ...(endpoint?.addresses ?? [])].filter(isMade)
  if (addresses.length === 0) return { parts: [], status: () => undefined }
  const own = new OwnInterface({ addresses, owner, clock, logger, registry, ownAddresses: addressesOfThisMachine })
  return { parts: [isMade(bindAddress) ? own : whereAllowed(own, logger)], status: () => own.status }
}

/** An endpoint without the address still serves 127.0.0.1, which is better than none. */
function whereAllowed(own: OwnInterface, logger: Logger): Part {
  return {
    name: own.name,
    start: async () => {
      try {
        return await own.start()
      } catch (error) {
        if (!(error instanceof InterfaceError)) throw error
        logger.warn(
          { why: error.message },
          'the endpoint serves loopback only; pods without hostNetwork cannot reach it',
        )
        return { stop: async () => {} }
      }
    },
  }
}

function composeForwards(options: EdgeNetworkOptions, links: EdgeLinks): readonly Forwards[] {
  const { bindAddress, forwards, clock, logger, net, registry } = options
  if (bindAddress === undefined) return []
  const warning = advertiseWarning(bindAddress)
  if (warning !== undefined) logger.warn({ bindAddress }, warning)
  const open: OpenStream = (header, signal) => links.open(header, signal)
  return [new Forwards({ forwards, bindAddress, open, clock, logger, net, registry })]
}

async function composeOwnEndpoint(options: EdgeNetworkOptions, links: EdgeLinks): Promise<EdgeEndpoint | undefined> {
  const { endpoint: settings, cluster, logger } = options
  if (settings === undefined) return undefined
  if (cluster === undefined) {
    logger.warn('no endpoint: certificates of your own need --kubernetes-ca and --apiserver-name for it')
    return undefined
  }
  return await composeEndpoint({ ...options, settings, cluster, links })
}
