/**
 * Opens one control plane for a hub: everything the hub needs is found in the cluster or made there, in this order, and kept
 * right for as long as the hub runs. The operator's files are read first, so that a mistake in them changes nothing.
 */
import { keyFingerprint } from '../../identity/keys.ts'
import type { CertificatePair, PairPaths } from '../../identity/pair-file.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { Part } from '../../process/lifecycle.ts'
import { Periodic } from '../../process/periodic.ts'
import { USUAL_HUB_NAMESPACE } from '../../protocol/names.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Random, systemRandom } from '../../runtime/random.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { ClaimStore } from '../claims/claim-store.ts'
import { explained } from '../shared/cluster-error.ts'
import { type AuthorityFiles, AuthorityLoader, isSameAuthority, type LoadedAuthority } from './authority.ts'
import { checkCaSeparation } from './ca-separation.ts'
import type { Cluster } from './cluster.ts'
import { readClusterInfo } from './cluster-info.ts'
import { InfoPublisher } from './info-publisher.ts'
import { SharedJoinTokens } from './join-tokens.ts'
import { findKubernetesTrust } from './kubernetes-trust.ts'
import { ensureNamespace } from './namespace.ts'
import { KubernetesNodes } from './nodes.ts'
import { ServerCertificateLoader } from './server-certificate.ts'
import { TokenKeeper } from './token-keeper.ts'
import { TokenKeys } from './token-keys.ts'
import { TokenRecords } from './token-records.ts'

/** How soon a hub notices that a CA, certificate, key or token was replaced or nears its end. */
export const CLUSTER_CHECK_MS = 60_000
/** Old records do no harm; they are only in the way of people who list them. */
const CLEANING_INTERVAL_MS = 60 * 60 * 1000

/**
 * A forgotten name is remembered at least this long, so that nobody brings old certificates back to life by setting a
 * shorter life for new ones.
 */
const MIN_RELEASED_KEPT_MS = 400 * 24 * 60 * 60 * 1000

export interface OpenClusterOptions {
  /** What the cluster is called in logs and metrics. */
  readonly name?: string
  readonly client: KubeClient
  readonly namespace?: string | undefined
  readonly clock: Clock
  readonly logger: Logger
  readonly random?: Random
  /** The DNS names and IP addresses by which edges reach the hub. */
  readonly addresses: readonly string[]
  readonly caFiles?: AuthorityFiles | undefined
  readonly serverFiles?: PairPaths | undefined
  /** In place of what the hub's own connection says of the API server. */
  readonly kubernetesCaFile?: string | undefined
  readonly apiServerName?: string | undefined
  /** How long an edge's certificate may be used from its issue to the end of any grace: so long a forgotten name is remembered. */
  readonly certificateUseMs: number
}

export interface OpenCluster extends Cluster {
  readonly namespace: string
  readonly claims: ClaimStore
  readonly authority: () => LoadedAuthority
  serverCertificate(): CertificatePair
  /** Hears of each new server certificate; the next connections should get it. */
  onServerCertificate(listener: (pair: CertificatePair) => void): () => void
  /** In the order in which they start. The claims are known once they have started. */
  readonly parts: readonly Part[]
}

/** Rejects with a `ClusterError` or `IdentityError` whose message says what is wrong and what helps. */
export async function openCluster(given: OpenClusterOptions): Promise<OpenCluster> {
  const { namespace = USUAL_HUB_NAMESPACE, random = systemRandom } = given
  const options = { ...given, namespace, random }
  const { client, kubernetesCaFile, apiServerName, caFiles, serverFiles } = options
  const authorities = new AuthorityLoader({ ...options, files: caFiles })
  const certificates = new ServerCertificateLoader({
    ...options,
    files: serverFiles,
  })
  // Bad files end it here, before anything is written.
  await certificates.loadFiles(await authorities.loadFiles())

  await ensureNamespace(client, namespace)
  const authority = await authorities.load()
  const findTrust = () =>
    findKubernetesTrust({
      client,
      namespace,
      caFile: kubernetesCaFile,
      apiServerName,
    })
  const kubernetes = await explained('find out how the API server is recognised', findTrust)
  checkCaSeparation(authority, kubernetes)
  const certificate = await certificates.load(authority)
  const keys = new TokenKeys(options)
  await explained('load the keys of join tokens', () => keys.load())
  const publisher = new InfoPublisher(options)
  await explained('publish what join tokens need', () =>
    publisher.publish({ kubernetes, hubCa: authority.signing.certificate }),
  )
  const state = { authority, certificate, kubernetes }
  return new SharedCluster({ ...options, authorities, certificates, keys, publisher, findTrust }, state)
}

interface ClusterParts extends OpenClusterOptions {
  readonly namespace: string
  readonly random: Random
  readonly authorities: AuthorityLoader
  readonly certificates: ServerCertificateLoader
  readonly keys: TokenKeys
  readonly publisher: InfoPublisher
  readonly findTrust: () => ReturnType<typeof findKubernetesTrust>
}

interface ClusterState {
  readonly authority: LoadedAuthority
  readonly certificate: CertificatePair
  readonly kubernetes: Awaited<ReturnType<typeof findKubernetesTrust>>
}

class SharedCluster implements OpenCluster {
  readonly name: string
  readonly namespace: string
  readonly tokens: SharedJoinTokens
  readonly claims: ClaimStore
  readonly nodes: KubernetesNodes
  readonly parts: readonly Part[]
  readonly #options: ClusterParts
  readonly #records: TokenRecords
  readonly #listeners = new Set<(pair: CertificatePair) => void>()
  #state: ClusterState

  constructor(options: ClusterParts, state: ClusterState) {
    const { clock, keys, publisher } = options
    this.name = options.name ?? 'default'
    this.namespace = options.namespace
    this.#options = options
    this.#state = state
    this.#records = new TokenRecords(options)
    this.tokens = new SharedJoinTokens({ clock, keys, records: this.#records, audience: () => publisher.clusterId })
    const issuer = (): string => keyFingerprint(this.#state.authority.signing.certificate.publicKey)
    this.claims = new ClaimStore({ ...options, issuer })
    this.nodes = new KubernetesNodes(options.client)
    this.parts = this.#makeParts()
  }

  readonly authority = (): LoadedAuthority => this.#state.authority

  kubernetes(): ClusterState['kubernetes'] {
    return this.#state.kubernetes
  }

  serverCertificate(): CertificatePair {
    return this.#state.certificate
  }

  onServerCertificate(listener: (pair: CertificatePair) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #makeParts(): readonly Part[] {
    const { client, namespace, clock, random, logger, keys, certificateUseMs } = this.#options
    const info = () => readClusterInfo(this.#options)
    const keeper = new TokenKeeper({ client, namespace, clock, random, keys, records: this.#records, info })
    const every = (everyMs: number, name: string, work: () => Promise<void>): Part =>
      new Periodic({ name: `${this.name}/${name}`, everyMs, work, clock, random, logger })
    return [
      this.claims,
      every(CLUSTER_CHECK_MS, 'ca', () => this.#renewAuthority()),
      every(CLUSTER_CHECK_MS, 'server-certificate', () => this.#renewCertificate()),
      every(CLUSTER_CHECK_MS, 'cluster-info', () => this.#renewInfo()),
      every(CLUSTER_CHECK_MS, 'join-token', async () => {
        await keys.rotateIfDue()
        await keeper.refresh()
      }),
      every(CLEANING_INTERVAL_MS, 'old-records', async () => {
        await this.#records.removeExpired()
        await this.claims.removeReleased(Math.max(certificateUseMs, MIN_RELEASED_KEPT_MS))
      }),
    ]
  }

  async #renewAuthority(): Promise<void> {
    const authority = await this.#options.authorities.load()
    if (isSameAuthority(authority, this.#state.authority)) return
    checkCaSeparation(authority, this.#state.kubernetes)
    const { fingerprint } = authority.signing.certificate
    this.#options.logger.info({ fingerprint, trusted: authority.trust.length }, 'the CA has changed')
    // Both at once: an edge that hears of a new CA finds its cross-certificate beside the server certificate.
    const certificate = await this.#options.certificates.load(authority)
    this.#state = { ...this.#state, authority }
    this.#serve(certificate)
    await this.#renewInfo()
  }

  async #renewCertificate(): Promise<void> {
    this.#serve(await this.#options.certificates.load(this.#state.authority))
  }

  #serve(certificate: CertificatePair): void {
    if (certificate.certificatePem === this.#state.certificate.certificatePem) return
    this.#state = { ...this.#state, certificate }
    for (const listener of this.#listeners) listener(certificate)
  }

  async #renewInfo(): Promise<void> {
    const kubernetes = await this.#options.findTrust()
    this.#state = { ...this.#state, kubernetes }
    await this.#options.publisher.publish({ kubernetes, hubCa: this.#state.authority.signing.certificate })
  }
}
