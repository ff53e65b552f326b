/**
 * What an edge does once it knows who it is, put together: links to the hubs, and what passes over them in both directions.
 */
import type { Registry } from 'prom-client'
import { addressesOfThisMachine } from '../network/own-addresses.ts'
import type { Clock } from '../telemetry/clock.ts'
import type { Health } from '../telemetry/health.ts'
import type { Part } from '../telemetry/lifecycle.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { DestinationRule } from './destinations/destination-rule.ts'
import { createDestinations } from './destinations/destinations.ts'
import type { ForwardStatus } from './forwards/forward.ts'
import type { ForwardSpec } from './forwards/forward-spec.ts'
import { Forwards } from './forwards/forwards.ts'
import { parseHubUrls } from './hub/hub-url.ts'
import { createAskWhy, createDialSession, type DialSessionOptions, type LinkIdentity } from './link/dial-session.ts'
import type { LinkStatus } from './link/edge-link.ts'
import { EdgeLinks } from './link/edge-links.ts'
import { createHubDial } from './link/hub-dial.ts'
import { sourceAddressTowards } from './link/source-address.ts'
import { advertiseWarning, isAlwaysThere } from './network/bind-address.ts'
import { type InterfaceStatus, OwnInterface } from './network/own-interface.ts'

export interface EdgeNetworkSettings extends Pick<DialSessionOptions, 'carriers' | 'proxy' | 'proxyCa' | 'innerTls'> {
  /** What hubs may reach from this node besides its kubelet. */
  readonly destinationRules: readonly DestinationRule[]
  readonly forwards: readonly ForwardSpec[]
  /** Where forwards listen; absent: nothing listens. Put on an interface of our own if the machine does not have it. */
  readonly bindAddress?: string
}

export interface EdgeNetworkOptions extends EdgeNetworkSettings {
  readonly node: string
  readonly hubs: readonly string[]
  readonly identity: LinkIdentity
  readonly dataDir: string
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
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
  readonly health: () => Health
  readonly status: () => EdgeNetworkStatus
}

export function composeEdgeNetwork(options: EdgeNetworkOptions): EdgeNetwork {
  const { clock, random, logger, registry, identity } = options
  const destinations = createDestinations({ ...options, rules: options.destinationRules })
  const links = new EdgeLinks({
    hubs: parseHubUrls(options.hubs),
    dial: createDialSession({ ...options, ...identity }),
    askWhy: createAskWhy({ ...identity, clock, dial: createHubDial(clock, options) }),
    clock,
    random,
    logger,
    registry,
    serve: (stream) => destinations.serve(stream),
    sourceAddress: sourceAddressTowards,
  })
  const listening = composeListening(options, links)
  return {
    // Listeners first: they stay open whatever the link does, and nothing else on the node has to be up for them.
    parts: [...listening.parts, links],
    links,
    health: () => links.health(),
    status: () => ({ links: links.status, ...listening.status() }),
  }
}

function composeListening(options: EdgeNetworkOptions, links: EdgeLinks) {
  const { bindAddress, forwards: specs, dataDir: owner, clock, logger, registry } = options
  if (bindAddress === undefined) return { parts: [], status: () => ({ forwards: [], interface: undefined }) }
  const warning = advertiseWarning(bindAddress)
  if (warning !== undefined) logger.warn({ bindAddress }, warning)
  const forwards = new Forwards({
    forwards: specs,
    bindAddress,
    open: (header, signal) => links.open(header, signal),
    logger,
    registry,
  })
  if (isAlwaysThere(bindAddress))
    return { parts: [forwards], status: () => ({ forwards: forwards.status, interface: undefined }) }
  const ownAddresses = addressesOfThisMachine
  const own = new OwnInterface({ addresses: [bindAddress], owner, clock, logger, registry, ownAddresses })
  return { parts: [own, forwards], status: () => ({ forwards: forwards.status, interface: own.status }) }
}
