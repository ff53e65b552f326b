/** Puts together what serves the streams of hubs at this node. */
import type { Registry } from 'prom-client'
import { addressesOfThisMachine } from '../../network/own-addresses.ts'
import { systemNetwork } from '../../network/tcp.ts'
import type { Clock } from '../../runtime/clock.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import { DestinationDialer } from './destination-dialer.ts'
import { createDestinationMetrics } from './destination-metrics.ts'
import { DestinationPolicy } from './destination-policy.ts'
import type { DestinationRule } from './destination-rule.ts'
import { StreamServer } from './stream-server.ts'

/** How old a look at the addresses of this machine may be: asking the system costs as much as a connection. */
const OWN_ADDRESSES_MAX_AGE_MS = 1_000

export interface DestinationsOptions {
  readonly node: string
  /** What hubs may reach besides the kubelet. */
  readonly rules: readonly DestinationRule[]
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
}

export function createDestinations({ node, rules, clock, logger, registry }: DestinationsOptions): StreamServer {
  return new StreamServer({
    policy: new DestinationPolicy({ node, rules, ownAddresses: lookedUpNow(clock) }),
    dialer: new DestinationDialer(systemNetwork, clock),
    clock,
    logger: componentLogger(logger, 'edge/destinations'),
    metrics: createDestinationMetrics(registry),
  })
}

function lookedUpNow(clock: Clock): () => readonly string[] {
  let addresses: readonly string[] = []
  let lookedUpMs = Number.NEGATIVE_INFINITY
  return () => {
    const nowMs = clock.monotonicMs()
    if (nowMs - lookedUpMs < OWN_ADDRESSES_MAX_AGE_MS) return addresses
    addresses = addressesOfThisMachine()
    lookedUpMs = nowMs
    return addresses
  }
}
