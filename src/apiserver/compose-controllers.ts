/**
 * What a kube-controller-manager would do for a bare API server, as two parts of the process: `bootstrap`, which must end
 * before anybody is served, and `controllers`, which run beside the listener.
 */
import { hostname } from 'node:os'
import { certificatePem } from '../identity/certificate.ts'
import type { CertificateAuthority } from '../identity/issue.ts'
import type { Part } from '../process/lifecycle.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { ServedGroupVersion } from './controllers/api-services.ts'
import { bootstrap } from './controllers/bootstrap.ts'
import { certificateApprovalController } from './controllers/certificate-approval.ts'
import { certificateCleanupController } from './controllers/certificate-cleanup.ts'
import { certificateSigningController } from './controllers/certificates.ts'
import { clusterRoleController } from './controllers/cluster-roles.ts'
import { type Controller, runController } from './controllers/controller.ts'
import { identityLeaseController } from './controllers/identity-lease.ts'
import { InternalClient } from './controllers/internal-client.ts'
import { namespaceController } from './controllers/namespaces.ts'
import { quotaStatusController } from './controllers/quota-status.ts'
import { REPLACEABLE_CONTROLLERS, type ReplaceableController } from './controllers/replaceable.ts'
import { rootCaController } from './controllers/root-ca.ts'
import { endServerLease, liveServers, type ServerAddress, serverLeaseController } from './controllers/server-leases.ts'
import { serviceAccountController } from './controllers/service-accounts.ts'
import { type Trust, trustController } from './controllers/trust-config-map.ts'
import type { ObjectCache } from './core/object-cache.ts'
import type { Writer } from './core/write/writer.ts'
import type { Authorizer } from './request/authorizer.ts'
import type { ServiceRange } from './services/ip-range.ts'
import { findAdvertiseAddress, kubernetesServiceController } from './services/kubernetes-service.ts'
import { ServiceLocks } from './services/service-locks.ts'
import { serviceRepairController } from './services/service-repair.ts'

export interface ControllersOptions {
  readonly writer: Writer
  readonly cache: ObjectCache
  readonly clock: Clock
  readonly logger: Logger
  readonly authorizer: Authorizer
  /** Signs certificates, and is what pods trust. */
  readonly ca: CertificateAuthority
  readonly trust: Trust
  readonly served: readonly ServedGroupVersion[]
  readonly serviceRange: ServiceRange
  /** Known once the listener listens. */
  securePort(): number
  /** Where others reach this server; an address of this machine unless given. */
  readonly advertiseAddress?: string | undefined
  /** True when other API servers may use the same store. */
  readonly sharesStore: boolean
  /** Left to a kube-controller-manager; absent: none. */
  readonly skip?: readonly ReplaceableController[] | undefined
}

export interface ControllerParts {
  /** Before the listener. */
  readonly bootstrap: Part
  /** After the listener. */
  readonly controllers: Part
}

export function composeControllers(options: ControllersOptions): ControllerParts {
  const client = new InternalClient(options.writer, options.cache)
  const { served, trust, serviceRange } = options
  return {
    bootstrap: {
      name: 'bootstrap',
      async start(signal) {
        await bootstrap({ client, served, trust, serviceCidr: serviceRange.cidr }, signal)
        return { stop: () => Promise.resolve() }
      },
    },
    controllers: {
      name: 'controllers',
      async start(signal) {
        const kubernetesService = kubernetesServiceOf(client, options)
        const lease = serverLeaseOf(options)
        // First the lease: an address without one is taken away by the other servers.
        for (const controller of [...lease.controllers, kubernetesService])
          await tryOnce(controller, options.logger, signal)
        const all = [
          ...lease.controllers,
          kubernetesService,
          serviceRepairOf(client, options),
          trustController(client, trust),
          ...identityLeaseOf(client, options),
          ...replaceable(client, options),
        ]
        const running = all.map((controller) => runController(controller, options))
        return {
          async stop() {
            await Promise.all(running.map((controller) => controller.stop()))
            await lease.end()
          },
        }
      },
    },
  }
}

/** Usually all that is needed, and then it is there when the server is ready; if not, the controller keeps trying. */
async function tryOnce(
  { name, firstKeys = [], reconcile }: Controller,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (const key of firstKeys) await reconcile(key, signal)
  } catch (error) {
    signal.throwIfAborted()
    logger.warn({ controller: name, err: error }, 'not yet in order')
  }
}

/** Nothing where a server is alone, or where nobody but this machine can reach it. */
function serverLeaseOf(options: ControllersOptions): { controllers: Controller[]; end: () => Promise<void> } {
  const address = advertisedBy(options)
  if (!options.sharesStore || address === undefined) return { controllers: [], end: () => Promise.resolve() }
  const { store } = options.writer.parts
  const self = (): ServerAddress => ({ address, port: options.securePort() })
  return { controllers: [serverLeaseController(store, self)], end: () => endServerLease(store, self()) }
}

/** Only where there may be several: a server that stands alone has better things to write every few seconds. */
function identityLeaseOf(client: InternalClient, options: ControllersOptions): Controller[] {
  if (!options.sharesStore) return []
  return [identityLeaseController({ client, hostName: hostname(), securePort: () => options.securePort() })]
}

function kubernetesServiceOf(client: InternalClient, options: ControllersOptions): Controller {
  const { serviceRange, sharesStore, cache } = options
  return kubernetesServiceController({
    client,
    clusterIp: serviceRange.first,
    others: () => (sharesStore ? liveServers(cache) : []),
    securePort: () => options.securePort(),
    advertiseAddress: advertisedBy(options),
  })
}

function advertisedBy({ advertiseAddress }: ControllersOptions): string | undefined {
  return advertiseAddress ?? findAdvertiseAddress()
}

function serviceRepairOf(client: InternalClient, { writer, cache, logger }: ControllersOptions): Controller {
  const { store } = writer.parts
  const locks = new ServiceLocks(cache)
  return serviceRepairController({ store, cache, locks, logger, timestamp: () => client.timestamp() })
}

function replaceable(client: InternalClient, { ca, clock, authorizer, skip = [] }: ControllersOptions): Controller[] {
  const make: Readonly<Record<ReplaceableController, () => Controller>> = {
    'service-accounts': () => serviceAccountController(client),
    'root-ca': () => rootCaController(client, certificatePem(ca.certificate)),
    namespaces: () => namespaceController(client),
    'cluster-roles': () => clusterRoleController(client),
    'certificate-signing': () => certificateSigningController(client, ca),
    'certificate-approval': () => certificateApprovalController(client, authorizer),
    'certificate-cleanup': () => certificateCleanupController(client),
    'resource-quotas': () => quotaStatusController(client, clock),
  }
  return REPLACEABLE_CONTROLLERS.filter((name) => !skip.includes(name)).map((name) => make[name]())
}
