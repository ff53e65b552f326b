/**
 * A cluster in memory that keeps the promises of `Cluster` by the same pure rules as the real one, for tests of everything
 * that stands in front of it.
 */
import { randomBytes } from 'node:crypto'
import {
  type Claim,
  claimByCertificate,
  claimByRotation,
  claimByToken,
  type HeldClaim,
  type Presented,
} from '../../src/hub/claims/claim.ts'
import type { Claims, JoiningWithCertificate } from '../../src/hub/claims/claims.ts'
import type { Cluster, HubAuthority, JoinTokens, KubernetesTrust } from '../../src/hub/cluster/cluster.ts'
import { Refusal } from '../../src/hub/refusal.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { type CertificateAuthority, issueSelfSignedCa, validityFromNow } from '../../src/identity/issue.ts'
import {
  type JoinClaims,
  type JoinTokenError,
  mintJoinToken,
  readJoinToken,
  verifyJoinJwt,
} from '../../src/identity/join-token.ts'
import { generateKeys } from '../../src/identity/keys.ts'
import type { Clock } from '../../src/runtime/clock.ts'

const caLifeMs = 3650 * 24 * 60 * 60 * 1000

export async function makeCa(clock: Clock, name = 'causeway-hub-ca'): Promise<CertificateAuthority> {
  const { privateKey } = await generateKeys()
  return await issueSelfSignedCa({ subject: userName(name), ...validityFromNow(clock, caLifeMs) }, privateKey)
}

export class FakeCluster implements Cluster {
  readonly name = 'fake'
  readonly audience: string
  readonly tokens: JoinTokens
  readonly claims: FakeClaims
  /** The Nodes of the cluster, whoever made them. */
  readonly nodeNames = new Set<string>()
  readonly revokedTokens = new Set<string>()
  readonly nodes = { exists: async (name: string) => this.nodeNames.has(name) }
  /** Set by a test to make the cluster unavailable. */
  outage: Refusal | undefined
  ca: CertificateAuthority
  readonly #clock: Clock
  readonly #tokenKey = { id: 'key-1', secret: randomBytes(32) }
  readonly #uses = new Map<string, Set<string>>()
  #tokenCount = 0

  constructor(clock: Clock, ca: CertificateAuthority, audience = 'cluster-1') {
    this.#clock = clock
    this.ca = ca
    this.audience = audience
    this.claims = new FakeClaims(clock)
    this.tokens = {
      verify: (jwt) => this.#verify(jwt),
      use: async (claims, node, key) => this.#use(claims, `${node} ${key}`),
    }
  }

  authority(): HubAuthority {
    return { signing: this.ca, trust: [this.ca.certificate], chainAbove: [] }
  }

  kubernetes(): KubernetesTrust {
    return { caPem: certificatePem(this.ca.certificate), apiServerName: 'kubernetes' }
  }

  /** The JWT of a new token. */
  async mint(limits: { node?: string; uses?: number; lifeMs?: number } = {}): Promise<string> {
    const { lifeMs = 24 * 60 * 60 * 1000, ...rest } = limits
    const issuedAtMs = this.#clock.nowMs()
    const claims: JoinClaims = {
      audience: this.audience,
      id: `token-${++this.#tokenCount}`,
      issuedAtMs,
      expiresAtMs: issuedAtMs + lifeMs,
      kubernetesCaSha256: 'a'.repeat(64),
      apiServerName: 'kubernetes',
      ...rest,
    }
    return readJoinToken(await mintJoinToken(claims, this.#tokenKey, 'b'.repeat(64))).jwt
  }

  async #verify(jwt: string): Promise<JoinClaims> {
    if (this.outage !== undefined) throw this.outage
    const claims = await verifyJoinJwt(jwt, {
      audience: this.audience,
      nowMs: this.#clock.nowMs(),
      keyOf: (id) => (id === this.#tokenKey.id ? this.#tokenKey.secret : undefined),
    }).catch((error: JoinTokenError) => {
      throw new Refusal(error.problem === 'expired' ? 'token-expired' : 'token-invalid', error.message)
    })
    if (this.revokedTokens.has(claims.id)) throw new Refusal('token-revoked', 'the token was revoked')
    return claims
  }

  #use({ id, uses }: JoinClaims, user: string): void {
    if (this.revokedTokens.has(id)) throw new Refusal('token-revoked', 'the token was revoked')
    const users = this.#uses.get(id) ?? new Set()
    if (uses !== undefined && !users.has(user) && users.size >= uses)
      throw new Refusal('token-used-up', `the token was good for ${uses} nodes`)
    this.#uses.set(id, users.add(user))
  }
}

class FakeClaims implements Claims {
  readonly #clock: Clock
  readonly #claims = new Map<string, Claim>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  known(node: string): Claim | undefined {
    return this.#claims.get(node)
  }

  async byToken({ certificateEndsMs, ...joining }: JoiningWithCertificate): Promise<HeldClaim> {
    const claim = claimByToken(this.known(joining.node), { ...joining, nowMs: this.#clock.nowMs() })
    return this.#keep({ ...claim, certificateEndsMs })
  }

  async byCertificate(presented: Omit<Presented, 'nowMs'>): Promise<HeldClaim> {
    return this.#keep(claimByCertificate(this.known(presented.node), { ...presented, nowMs: this.#clock.nowMs() }))
  }

  async byRotation(node: string, presented: string, wanted: string, certificateEndsMs: number): Promise<HeldClaim> {
    const claim = this.known(node)
    if (claim?.state !== 'held') throw new Refusal('certificate-revoked', `nobody holds ${node}`)
    return this.#keep({ ...claimByRotation(claim, presented, wanted), certificateEndsMs })
  }

  async forget(node: string): Promise<boolean> {
    const wasHeld = this.known(node)?.state === 'held'
    this.#claims.set(node, { state: 'released', node, releasedAtMs: this.#clock.nowMs() })
    return wasHeld
  }

  onChange(): () => void {
    return () => {}
  }

  #keep(claim: HeldClaim): HeldClaim {
    this.#claims.set(claim.node, claim)
    return claim
  }
}
