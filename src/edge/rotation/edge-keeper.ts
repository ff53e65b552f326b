/** The keeper of the edge's own certificate, which asks the hub by showing the certificate it replaces. */
import type { Certificate } from '../../identity/certificate.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import type { CertificatePair } from '../../identity/pair-file.ts'
import type { Dial } from '../../kube/client/connector.ts'
import type { Clock } from '../../telemetry/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { HubClient } from '../hub/hub-client.ts'
import { parseHubUrls } from '../hub/hub-url.ts'
import type { EdgeFiles } from '../identity/edge-files.ts'
import type { JoinedIdentity } from '../identity/edge-identity.ts'
import { LearntTrust } from '../identity/learnt-trust.ts'
import { ownCertificateProblem } from '../identity/own-certificate.ts'
import { CertificateKeeper } from './certificate-keeper.ts'
import type { KeeperMetrics } from './keeper-metrics.ts'

export interface EdgeKeeperOptions {
  readonly identity: JoinedIdentity
  readonly files: EdgeFiles
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: KeeperMetrics
  readonly dial?: Dial | undefined
  readonly onRotated?: (pair: CertificatePair) => void | Promise<void>
}

export interface EdgeKeeper {
  readonly keeper: CertificateKeeper
  /** Presents whatever the keeper holds at the time. */
  readonly client: HubClient
  /** Shows the certificate, and learns which CAs the hub wants to be known by. */
  readonly checkIn: (signal: AbortSignal) => Promise<void>
  readonly hubCa: () => readonly Certificate[]
}

export function createEdgeKeeper(options: EdgeKeeperOptions): EdgeKeeper {
  const { identity, files, clock, onRotated, dial, ...rest } = options
  const { node, record } = identity
  const trust = new LearntTrust(identity.hubCa, files, options.logger)
  const hubs = parseHubUrls(record.hubs)
  const client = new HubClient({ hubs, clock, trust: () => trust.certificates, dial, pair: () => keeper.current() })
  const checkIn = async (signal: AbortSignal): Promise<void> => {
    await trust.learn((await client.checkIn(signal)).hubCa)
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
    problemOf: (chain) =>
      ownCertificateProblem(chain, { trust: trust.certificates, atMs: clock.nowMs(), dates: 'check', node })?.message,
    present: checkIn,
    rejoinAdvice: rejoinAdvice(node, record.hubs),
    ...(onRotated === undefined ? {} : { onRotated }),
  })
  return { keeper, client, checkIn, hubCa: () => trust.certificates }
}

/** The exact words to type, since whoever reads this has a node that is locked out. */
export function rejoinAdvice(node: string, hubs: readonly string[]): string {
  const address = hubs.join(',')
  return (
    `to join again: where the cluster is administered, causeway token create --node ${node} > token; ` +
    `here, causeway edge join --hub ${address} --token-file token --node-name ${node}`
  )
}
