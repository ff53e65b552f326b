/** Puts together what serves the streams of hubs at this node. */
import type { Registry } from 'prom-client'
import { addressesOfThisMachine } from '../../network/own-addresses.ts'
import { systemNetwork } from '../../network/tcp.ts'
import type { Clock } from '../../telemetry/clock.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import { DestinationDialer } from './destination-dialer.ts'
import { createDestinationMetrics } from './destination-metrics.ts'
import { DestinationPolicy } from './destination-policy.ts'
import type { DestinationRule } from './destination-rule.ts'
import { StreamServer } from './stream-server.ts'

export interface DestinationsOptions {
  readonly node: string
  /** Beside the kubelet. */
  readonly rules: readonly DestinationRule[]
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
}

export function createDestinations({ node, rules, clock, logger, registry }: DestinationsOptions): StreamServer {
  return new StreamServer({
    policy: new DestinationPolicy({ node, rules, ownAddresses: addressesOfThisMachine }),
    dialer: new DestinationDialer(systemNetwork, clock),
    clock,
    logger: componentLogger(logger, 'edge/destinations'),
    metrics: createDestinationMetrics(registry),
  })
}
