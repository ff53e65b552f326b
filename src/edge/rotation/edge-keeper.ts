/** The keeper of the edge's own certificate, which asks the hub by showing the certificate it replaces. */
import { dirname } from 'node:path'
import type { Certificate } from '../../identity/certificate.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import type { CertificatePair } from '../../identity/pair-file.ts'
import type { Dial } from '../../kube/client/connector.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Health, unhealthy } from '../../telemetry/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { HubClient } from '../hub/hub-client.ts'
import { parseHubUrls } from '../hub/hub-url.ts'
import type { EdgeFiles } from '../identity/edge-files.ts'
import type { JoinedIdentity } from '../identity/edge-identity.ts'
import type { KeeperMetrics } from '../identity/keeper-metrics.ts'
import { LearntTrust } from '../identity/learnt-trust.ts'
import { ownCertificateProblem } from '../identity/own-certificate.ts'
import { CertificateKeeper, type Presentation } from './certificate-keeper.ts'
import { clockHere } from './clock-hint.ts'

export interface EdgeKeeperOptions {
  readonly identity: JoinedIdentity
  readonly files: EdgeFiles
  /** In place of the addresses on record; put on record once one of them has turned out to be the hub. */
  readonly hubs?: readonly string[]
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: KeeperMetrics
  readonly dial?: Dial | undefined
  readonly onRotated?: (pair: CertificatePair) => void | Promise<void>
  /** Whether somebody else was told that the certificate does not count. */
  readonly isDoubted?: () => boolean
}

export interface EdgeKeeper {
  readonly keeper: CertificateKeeper
  /** Presents whatever the keeper holds at the time. */
  readonly client: HubClient
  readonly health: () => Health
  readonly hubCa: () => readonly Certificate[]
}

export function createEdgeKeeper(options: EdgeKeeperOptions): EdgeKeeper {
  const { identity, files, clock, onRotated, dial, ...rest } = options
  const { node, record } = identity
  const ownChain = (): CertificatePair['chain'] | undefined => keeper.current()?.chain
  const trust = new LearntTrust({ ...options, node, certificates: identity.hubCa, ownChain })
  const hubs = parseHubUrls(options.hubs ?? record.hubs)
  const addresses = hubs.map(({ origin }) => origin)
  let isRemembered = addresses.join() === record.hubs.join()
  const client = new HubClient({ hubs, clock, trust: () => trust.certificates, dial, pair: () => keeper.current() })
  const present = async (signal: AbortSignal): Promise<Presentation> => {
    await trust.learn(await client.checkIn(signal))
    if (!isRemembered) await files.rememberHubs(addresses)
    isRemembered = true
    return { isIssuerReplaced: trust.isOwnIssuerReplaced }
  }
  const keeper: CertificateKeeper = new CertificateKeeper({
    ...rest,
    name: 'edge',
    clock,
    pair: identity.pair,
    remembered: record.rotation,
    source: { request: async (requestPem, signal) => await client.renew(requestPem, signal) },
    store: {
      write: async (pair) => await files.writePair(pair),
      rememberRotation: async (rotation) => await files.rememberRotation(rotation),
    },
    template: () => ({ subject: nodeSubject(node) }),
    problemOf: (chain) => {
      const atMs = clock.nowMs()
      const problem = ownCertificateProblem(chain, { trust: trust.certificates, atMs, dates: 'check', node })
      const isOfDates = problem?.reason === 'expired' || problem?.reason === 'not-yet-valid'
      return isOfDates ? `${problem.message}; ${clockHere(atMs)}` : problem?.message
    },
    present,
    rejoinAdvice: rejoinAdvice(node, addresses, dirname(files.paths.record)),
    onRotated,
  })
  const health = (): Health => {
    const ofCertificate = keeper.health()
    return ofCertificate.ok && trust.problem !== undefined ? unhealthy(trust.problem) : ofCertificate
  }
  return { keeper, client, health, hubCa: () => trust.certificates }
}

/** The exact words to type, since whoever reads this has a node that is locked out. */
export function rejoinAdvice(node: string, hubs: readonly string[], dataDir: string): string {
  const address = hubs.join(',')
  return (
    `to join again: where the cluster is administered, causeway token create --node ${node} > token; ` +
    `here, causeway edge join --hub ${address} --token-file token --node-name ${node} --data-dir ${dataDir}`
  )
}
