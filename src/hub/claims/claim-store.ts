/**
 * The claims of the cluster, one ConfigMap each. A watch keeps a view of them, which is enough to say yes to what is known
 * already; whatever would be refused or changed is judged again by the record itself, and written only over the version
 * that was judged.
 */
import type { KubeClient } from '../../kube/client/client.ts'
import { configMaps } from '../../kube/client/kinds.ts'
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { ConfigMap } from '../../kube/client/types.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { Refusal } from '../refusal.ts'
import { clusterUnavailable, explained, onBehalfOfEdge } from '../shared/cluster-error.ts'
import { claimName } from '../shared/names.ts'
import { changeShared, createOrChange } from '../shared/shared-object.ts'
import {
  type Claim,
  claimByCertificate,
  claimByRotation,
  claimByToken,
  type HeldClaim,
  type KeyFingerprint,
  type Presented,
  releaseClaim,
} from './claim.ts'
import { listClaims, removeReleasedClaims } from './claim-list.ts'
import { claimObject, claimOf, isSameClaim } from './claim-object.ts'
import { ClaimView } from './claim-view.ts'
import type { Claims, JoiningWithCertificate } from './claims.ts'
import { CLAIM_CHECK_TIMEOUT_MS, type Freshness } from './freshness.ts'
import { serverTimeMs } from './server-time.ts'

export interface ClaimStoreOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** The key of the CA that signs at the moment, for the record; a command that only reads and forgets has none. */
  readonly issuer?: () => KeyFingerprint
}

/** Starting it begins the watch; without it all works too, with a question to the API server each time. */
export class ClaimStore implements Claims, Part {
  readonly name = 'claims'
  readonly #options: ClaimStoreOptions
  readonly #maps: ResourceClient<ConfigMap>
  readonly #view: ClaimView
  #isLive = false

  constructor(options: ClaimStoreOptions) {
    this.#options = options
    this.#maps = options.client.resource(configMaps).in(options.namespace)
    this.#view = new ClaimView(this.#maps, options.clock, options.logger)
  }

  async start(signal: AbortSignal): Promise<RunningPart> {
    const running = await this.#view.start(signal)
    this.#isLive = true
    return running
  }

  /** False until everything that was there at the start has been seen: from then on, changes are news. */
  get isLive(): boolean {
    return this.#isLive
  }

  known(node: string): Claim | undefined {
    return this.#view.get(node)
  }

  get freshness(): Freshness {
    return this.#view.freshness
  }

  get allKnown(): readonly Claim[] {
    return this.#view.all
  }

  onChange(listener: (node: string, claim: Claim | undefined) => void): () => void {
    return this.#view.onChange(listener)
  }

  async byToken({ certificateEndsMs, ...joining }: JoiningWithCertificate): Promise<HeldClaim> {
    const nowMs = this.#options.clock.nowMs()
    const issuedBy = this.#issuedBy()
    return await this.#judge(joining.node, (claim) => ({
      ...claimByToken(claim, { ...joining, nowMs }),
      certificateEndsMs,
      ...issuedBy,
    }))
  }

  async byCertificate(given: Omit<Presented, 'nowMs'>): Promise<HeldClaim> {
    const presented = { ...given, nowMs: this.#options.clock.nowMs() }
    const known = this.#view.freshness.isFresh ? this.#view.get(presented.node) : undefined
    if (known?.state === 'held' && isAllowedUnchanged(known, presented)) return known
    return await this.#inTime(this.#judge(presented.node, (claim) => claimByCertificate(claim, presented)))
  }

  async byRotation(
    node: string,
    presented: KeyFingerprint,
    wanted: KeyFingerprint,
    certificateEndsMs: number,
  ): Promise<HeldClaim> {
    const issuedBy = this.#issuedBy()
    return await this.#judge(node, (claim) => {
      if (claim?.state === 'held')
        return { ...claimByRotation(claim, presented, wanted), certificateEndsMs, ...issuedBy }
      throw new Refusal(
        'certificate-revoked',
        `nobody holds the name of node ${node} any more; join again with a token`,
      )
    })
  }

  /**
   * Also where nobody holds the name a mark is left: certificates from before must count for nothing, even if the record of
   * their use was lost. A damaged record is replaced; forgetting is how an operator gets rid of it.
   */
  async forget(node: string): Promise<boolean> {
    const { client, clock, namespace } = this.#options
    let wasHeld = false
    await explained(`forget node ${node}`, async () => {
      const releasedAtMs = await serverTimeMs(client, clock)
      const release = (present: ConfigMap | undefined): ConfigMap => {
        const before = readableClaim(present)
        wasHeld = before === 'damaged' || before?.state === 'held'
        const known = before === 'damaged' ? undefined : before
        return claimObject(releaseClaim(known, node, releasedAtMs), namespace)
      }
      await changeShared(this.#maps, claimName(node), release, this.#options)
    })
    return wasHeld
  }

  /** Asked afresh; by name of the node. Damaged records are named apart. */
  async list(): ReturnType<typeof listClaims> {
    return await explained('list the claims of nodes', () => listClaims(this.#maps))
  }

  /** Removes the marks of names that were released so long ago that no certificate from before can be used any more. */
  async removeReleased(certificateUseMs: number): Promise<number> {
    return await removeReleasedClaims(this.#maps, this.#options.clock.nowMs() - certificateUseMs)
  }

  #issuedBy(): { readonly issuer?: KeyFingerprint } {
    const { issuer } = this.#options
    return issuer === undefined ? {} : { issuer: issuer() }
  }

  /** An API server that is cut off must not keep edges waiting: another hub may be able to ask it. */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    let cancel = (): void => {}
    const late = new Promise<never>((_, reject) => {
      cancel = this.#options.clock.schedule(CLAIM_CHECK_TIMEOUT_MS, () => reject(clusterUnavailable()))
    })
    try {
      return await Promise.race([work, late])
    } finally {
      cancel()
    }
  }

  async #judge(node: string, rule: (claim: Claim | undefined) => HeldClaim): Promise<HeldClaim> {
    return await onBehalfOfEdge(async () => {
      let judged: HeldClaim | undefined
      await this.#change(node, (claim) => {
        judged = rule(claim)
        return judged
      })
      if (judged === undefined) throw new Error('a rule was not asked')
      return judged
    })
  }

  /** Nothing is written if the rule wants what is there. */
  async #change(node: string, rule: (claim: Claim | undefined) => Claim): Promise<void> {
    const write = this.#view.get(node) === undefined ? createOrChange : changeShared
    await write(
      this.#maps,
      claimName(node),
      (present) => {
        const before = present === undefined ? undefined : claimOf(present)
        const after = rule(before)
        if (before !== undefined && isSameClaim(before, after)) return undefined
        return claimObject(after, this.#options.namespace)
      },
      this.#options,
    )
  }
}

function isAllowedUnchanged(known: HeldClaim, presented: Presented): boolean {
  try {
    return claimByCertificate(known, presented) === known
  } catch {
    return false
  }
}

function readableClaim(object: ConfigMap | undefined): Claim | 'damaged' | undefined {
  try {
    return object === undefined ? undefined : claimOf(object)
  } catch {
    return 'damaged'
  }
}
