/** What leads the other programs of a node to the endpoint, put together: kubeconfigs, kube-proxy's token, a NAT rule. */
import type { Registry } from 'prom-client'
import type { Certificate } from '../identity/certificate.ts'
import { caBundleSha256 } from '../identity/join-token.ts'
import { addressesOfThisMachine } from '../network/own-addresses.ts'
import { isSpecialAddress } from '../network/special-address.ts'
import type { Part, RunningPart } from '../process/lifecycle.ts'
import type { Clock } from '../runtime/clock.ts'
import { HEALTHY, type Health } from '../telemetry/health.ts'
import { componentLogger, type Logger } from '../telemetry/logger.ts'
import type { NodeCertificates } from './certificates/node-certificates.ts'
import type { FilterEndpoint } from './filters/filter.ts'
import type { HubClient } from './hub/hub-client.ts'
import { KubeProxyTokenKeeper, type KubeProxyTokenStatus } from './kubeconfigs/kube-proxy-token.ts'
import { kubeconfigPaths, writeKubeconfigs } from './kubeconfigs/kubeconfig-files.ts'
import { createTokenMetrics } from './kubeconfigs/token-metrics.ts'
import { Nat, type NatStatus } from './network/nat.ts'

export interface GuideOptions {
  readonly node: string
  readonly dataDir: string
  readonly kubernetesCaFile: string
  readonly kubernetesCa: readonly Certificate[]
  readonly writeKubeconfigs: boolean
  readonly nat: boolean
  readonly certificates: NodeCertificates
  /** Where pods are led to; `undefined` while that is not open. */
  readonly served: () => FilterEndpoint | undefined
  /** Where the programs of the node itself are led to. */
  readonly local: () => { readonly host: string; readonly port: number } | undefined
  readonly client: HubClient
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly registry: Registry
}

export interface GuideStatus {
  readonly kubeProxyToken: KubeProxyTokenStatus | undefined
  readonly nat: NatStatus | undefined
}

export interface Guides {
  readonly parts: readonly Part[]
  readonly status: () => GuideStatus
  /** Whether the token file of kube-proxy is good, where one is kept. */
  readonly tokenHealth: () => Health
  /** The token of kube-proxy, where one is kept. */
  readonly kubeProxyToken: () => string | undefined
  /** Where the hub keeps the account of kube-proxy; `undefined` while no token of it is kept. */
  readonly hubNamespace: () => string | undefined
  /** To be called when the API server does not take the token with this hash. */
  readonly rejected: (tokenHash: string) => void
  /** To be called when the endpoint has opened, which may be long after the start: it waits for a certificate. */
  readonly opened: () => void
}

export function composeGuides(options: GuideOptions): Guides {
  const kubeconfigs = options.writeKubeconfigs ? new KubeconfigWriter(options) : undefined
  const token = options.writeKubeconfigs ? tokenKeeper(options) : undefined
  const nat = options.nat ? serviceNat(options) : undefined
  return {
    parts: [kubeconfigs, token, nat].filter((part) => part !== undefined),
    status: () => ({ kubeProxyToken: token?.status, nat: nat?.status }),
    tokenHealth: () => token?.health() ?? HEALTHY,
    kubeProxyToken: () => token?.token,
    hubNamespace: () => token?.namespace,
    rejected: (tokenHash) => token?.rejected(tokenHash),
    opened: () => {
      kubeconfigs?.write()
      nat?.targetsChanged()
    },
  }
}

/** Writes once the port is known, and again whenever the endpoint opens at another. */
class KubeconfigWriter implements Part {
  readonly name = 'kubeconfigs'
  readonly #options: GuideOptions
  #writing: Promise<void> = Promise.resolve()

  constructor(options: GuideOptions) {
    this.#options = options
  }

  async start(): Promise<RunningPart> {
    this.write()
    await this.#writing
    return { stop: () => this.#writing }
  }

  write(): void {
    this.#writing = this.#writeAfter(this.#writing)
  }

  async #writeAfter(others: Promise<void>): Promise<void> {
    await others
    const { node, dataDir, kubernetesCaFile, local, logger } = this.#options
    const endpoint = local()
    if (endpoint === undefined) return
    try {
      await writeKubeconfigs({ node, dataDir, kubernetesCaFile, host: endpoint.host, port: endpoint.port })
    } catch (error) {
      logger.error({ err: error }, 'the kubeconfigs of the node could not be written')
    }
  }
}

function tokenKeeper(options: GuideOptions): KubeProxyTokenKeeper {
  const { dataDir, logger, registry } = options
  return new KubeProxyTokenKeeper({
    ...options,
    file: kubeconfigPaths(dataDir).kubeProxyToken,
    logger: componentLogger(logger, 'edge/kube-proxy-token'),
    metrics: createTokenMetrics(registry),
    kubernetesCaSha256: caBundleSha256(options.kubernetesCa),
  })
}

/**
 * The hub has put the addresses of the service into the serving certificate, so they are known without a link too. The others
 * in it are addresses of this machine.
 */
function serviceNat({ dataDir: owner, certificates, served, clock, logger, registry }: GuideOptions): Nat {
  const targets = () => {
    const endpoint = served()
    const endpointAddresses = endpoint === undefined ? [] : [endpoint.address]
    const named = certificates.serving()?.chain[0].names.ipAddresses ?? []
    const own = new Set([...addressesOfThisMachine(), ...endpointAddresses])
    const clusterIps = named.filter((address) => !isSpecialAddress(address) && !own.has(address))
    return { clusterIps, endpointAddresses, endpointPort: endpoint?.port ?? 0 }
  }
  return new Nat({ owner, targets, clock, logger, registry })
}
