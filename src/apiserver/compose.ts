/**
 * The API server, put together: what it is built of, each from what stands above it, and in which order its parts start.
 * Every step has its own `compose-*.ts`. Read it from the bottom to follow a request: the listener hands it to the chain,
 * whose innermost filter hands it to the delegates.
 */
import type { Listener } from '../http/server/listener.ts'
import { formatAddress } from '../network/listen.ts'
import type { Part } from '../process/lifecycle.ts'
import { SafetyNet } from '../process/safety-net.ts'
import { componentLogger } from '../telemetry/logger.ts'
import type { ApiServerOptions } from './api-server-options.ts'
import { Audit } from './audit/audit.ts'
import { composeAuth } from './compose-auth.ts'
import { composeChain } from './compose-chain.ts'
import { composeControllers } from './compose-controllers.ts'
import { composeDelegates } from './compose-delegates.ts'
import { composeListener } from './compose-listener.ts'
import { composeStore, objectsPart } from './compose-store.ts'
import { composeWriter } from './compose-writer.ts'
import { HistoryKeeper } from './core/history.ts'
import { builtInGroupVersions } from './discovery/built-in.ts'
import { HeavyWork } from './heavy/heavy-work.ts'
import { createMetrics } from './metrics/metrics.ts'
import { DEFAULT_SERVICE_CIDR, ServiceRange } from './services/ip-range.ts'
import { publishedTrust, tlsFiles } from './trust.ts'

export interface ComposedApiServer {
  /** In the order in which they start. */
  readonly parts: readonly Part[]
  readonly listener: Listener
}

export function composeApiServer(options: ApiServerOptions): ComposedApiServer {
  const { address, pki, health, registry, sharesStore, auditLog, clientCas = [], maxConnectionsPerAddress } = options
  const logger = componentLogger(options.logger, 'apiserver')
  // Under everything that a client sets off, timers included: hence its clock is the one that all others get.
  const net = new SafetyNet({ clock: options.clock, logger, registry })
  const clock = net.timers(options.clock)
  const metrics = createMetrics(registry)
  const audit = new Audit(registry, auditLog)

  // The store, and all objects in memory: what everything below reads.
  const kept = composeStore({ store: options.store, clock, logger, registry })
  const { store, cache } = kept
  // Who asks and what they may do, decided on the policy in memory.
  const { tokens, authorizationModes: modes } = options
  const auth = composeAuth({ kept, clock, pki, clientCas, tokens, modes })
  // Other threads for what would keep everybody else waiting.
  const heavy = new HeavyWork({ clock, logger })
  const serviceRange = new ServiceRange(DEFAULT_SERVICE_CIDR)
  // The one way for objects to change, for clients and controllers alike.
  const { disabledAdmissionPlugins = [] } = options
  const writer = composeWriter({
    kept,
    auth,
    clock,
    logger,
    heavy,
    serviceRange,
    sharesStore,
    disabledAdmissionPlugins,
  })
  const served = builtInGroupVersions()
  // Who owns which path.
  const serverAddress = (): string => formatAddress(listener.address)
  const delegates = composeDelegates({
    kept,
    auth,
    writer,
    heavy,
    clock,
    health,
    registry,
    pki,
    served,
    serverAddress,
  })
  // What every request passes on its way to them.
  const handler = composeChain({ auth, audit, metrics, clock, logger, delegates })
  const listener = composeListener({
    address,
    tls: tlsFiles(pki, clientCas),
    clock,
    net,
    logger,
    metrics: metrics.access,
    maxConnectionsPerAddress,
    handler,
  })
  // What a kube-controller-manager would do for a bare API server.
  const { bootstrap, controllers } = composeControllers({
    writer,
    cache,
    clock,
    logger: options.logger,
    authorizer: auth.authorizer,
    ca: pki.ca,
    trust: publishedTrust(pki, clientCas),
    served,
    serviceRange,
    securePort: () => listener.address.port,
    sharesStore,
    skip: options.skippedControllers,
  })
  const parts = [
    // First, and therefore last to stop: it takes in the events of everything below.
    ...(auditLog === undefined ? [] : [auditLog]),
    objectsPart(cache, clock, () => auth.followPolicy()),
    new HistoryKeeper(store, clock, logger),
    heavy,
    // Before anybody is served: clients count on the default objects from the first request on.
    bootstrap,
    listener,
    // After the listener, whose port the `kubernetes` Service names.
    controllers,
  ]
  return { parts, listener }
}
