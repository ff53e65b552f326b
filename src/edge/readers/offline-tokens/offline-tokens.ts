/**
 * Who a bearer token is while the API server cannot be asked: by its signature, never by what it says of itself. What only the
 * API server knows, such as whether the account is still there, stays unknown here; that is what being offline means.
 */
import type { TokenClaims } from '../../../identity/service-account/claims.ts'
import { readAudiences, readClaims, readText } from '../../../identity/service-account/claims.ts'
import { RefusedTokenError } from '../../../identity/service-account/refused-token.ts'
import {
  parseToken,
  type SignatureCheck,
  SignatureVerifier,
  type UnverifiedToken,
} from '../../../identity/service-account/signed-token.ts'
import { type ServiceAccountUser, serviceAccountUser } from '../../../identity/service-account/user.ts'
import { BoundedMap } from '../../../runtime/bounded-map.ts'
import type { SteadyTime } from '../steady-time.ts'
import type { DeletedPods } from './deleted-pods.ts'
import type { RejectedTokens } from './rejected-tokens.ts'
import { hashToken, type SeenTokens } from './seen-tokens.ts'
import type { SigningKeys } from './signing-keys.ts'
import { VerificationPlaces } from './verification-places.ts'

/** Tokens of ServiceAccounts have one to two thousand characters; headers of requests have no room for more than this. */
export const MAX_OFFLINE_TOKEN_CHARS = 16 * 1024
/** Verdicts that are remembered: more than a node has pods. Good and bad ones apart, so that forgers crowd nobody out. */
const MAX_REMEMBERED_SIGNATURES = 4_096
/** How far clocks may differ, as kube-apiserver has it. */
export const TOKEN_LEEWAY_MS = 60_000

const AUTHENTICATED_GROUP = 'system:authenticated'

export type OfflineVerdict =
  /** `expiredForMs`: how much of its grace it has used up, nothing for a token that is still good. */
  | { readonly kind: 'user'; readonly user: ServiceAccountUser; readonly expiredForMs: number }
  /** A token of this API server that is no good: a signature that is not its own, or not for it. 401. */
  | { readonly kind: 'forged'; readonly why: string }
  /** It was good, and is not any more. 401. */
  | { readonly kind: 'expired'; readonly why: string }
  /** Signed with a key that is newer than those that are known here, or nothing is known at all. 503. */
  | { readonly kind: 'unknown-key' }
  /** Not a token of a ServiceAccount by this API server: only that one can tell whose it is. 401. */
  | { readonly kind: 'foreign' }
  /** Too many are being checked at the moment. 503. */
  | { readonly kind: 'busy' }

export interface OfflineTokensOptions {
  readonly keys: SigningKeys
  readonly seen: SeenTokens
  readonly rejected: Pick<RejectedTokens, 'has' | 'add' | 'delete'>
  readonly deletedPods: Pick<DeletedPods, 'has'>
  readonly time: Pick<SteadyTime, 'signedAt'>
  /** How much time offline an expired token may be used for. */
  readonly graceMs: number
}

interface SignedToken {
  readonly kind: 'signed'
  readonly claims: TokenClaims
  readonly user: ServiceAccountUser
}

/** What does not change for as long as the keys are the same. */
type Judgement = SignedToken | { readonly kind: 'forged'; readonly why: string }

/** What may be known a moment later. */
interface Unjudged {
  readonly kind: 'unknown-key' | 'foreign'
}

export class OfflineTokens {
  readonly #options: OfflineTokensOptions
  readonly #places = new VerificationPlaces()
  /** Those used last stand last. */
  readonly #signed = new BoundedMap<string, Judgement>(MAX_REMEMBERED_SIGNATURES)
  readonly #forged = new BoundedMap<string, Judgement>(MAX_REMEMBERED_SIGNATURES)
  /** Hashes of tokens whose issuer and audience were learnt, those used last at the end. */
  readonly #learnt = new BoundedMap<string, true>(MAX_REMEMBERED_SIGNATURES)
  #verifier = new SignatureVerifier([])
  #verifierKeys: SigningKeys['keys'] = []

  constructor(options: OfflineTokensOptions) {
    this.#options = options
  }

  /** `nowMs` is that of `SteadyTime`. */
  async verify(text: string, nowMs: number): Promise<OfflineVerdict> {
    const hash = hashToken(text)
    const judgement = await this.#judgementOf(text, hash)
    if (judgement === undefined) return { kind: 'busy' }
    return judgement.kind === 'signed' ? this.#verdict(judgement, hash, nowMs) : judgement
  }

  /** Whoever comes again costs no more than a look. */
  async #judgementOf(text: string, hash: string): Promise<Judgement | Unjudged | undefined> {
    if (text.length > MAX_OFFLINE_TOKEN_CHARS) return { kind: 'foreign' }
    this.#takeKeys()
    return this.#signed.use(hash) ?? this.#forged.use(hash) ?? (await this.#judgeNew(text, hash))
  }

  async #judgeNew(text: string, hash: string): Promise<Judgement | Unjudged | undefined> {
    const { keys } = this.#options
    const token = parseToken(text)
    if (token === undefined) return { kind: 'foreign' }
    if (keys.keys.length === 0) return { kind: 'unknown-key' }
    if (!isIssuedBy(token, keys)) return { kind: 'foreign' }
    return await this.#places.run(() => this.#judge(token, hash))
  }

  /** The API server has accepted this token as one for itself: it takes its issuer, and its audience where there is but one. */
  async accepted(text: string): Promise<void> {
    const { rejected, seen, keys } = this.#options
    const hash = hashToken(text)
    rejected.delete(hash)
    if (seen.has(hash) && this.#learnt.use(hash) !== undefined) return
    const signed = await this.#checkSignature(text)
    if (signed === undefined) return
    const { payload } = signed.token
    const isNew = keys.learn(readText(payload, 'iss'), onlyOne(readAudiences(payload)))
    // Others may have been judged by what was not known then.
    if (isNew) this.#forged.clear()
    seen.add(hash, signed.expiresMs)
    this.#learnt.set(hash, true)
  }

  /** The API server has issued this token, for itself or for whomever it was asked to be for. */
  async issued(text: string): Promise<void> {
    const { rejected, seen } = this.#options
    const hash = hashToken(text)
    rejected.delete(hash)
    const signed = seen.has(hash) ? undefined : await this.#checkSignature(text)
    if (signed !== undefined) seen.add(hash, signed.expiresMs)
  }

  /** The API server does not take this token: neither what was seen of it counts any more, nor its signature. */
  async rejected(text: string): Promise<void> {
    const { rejected, seen } = this.#options
    const hash = hashToken(text)
    seen.forget(hash)
    // Anybody can make up tokens: only of those that would be good here it needs to be known.
    if ((await this.#judgementOf(text, hash))?.kind === 'signed') rejected.add(hash)
  }

  /** Undefined for what none of the known keys has signed, and for what never ends. */
  async #checkSignature(
    text: string,
  ): Promise<{ readonly token: UnverifiedToken; readonly expiresMs: number } | undefined> {
    const { keys } = this.#options
    const token = text.length > MAX_OFFLINE_TOKEN_CHARS ? undefined : parseToken(text)
    if (token === undefined) return undefined
    this.#takeKeys()
    const check = await this.#places.run(() => this.#verifier.check(token))
    if (check === 'unknown-key' && 'kubernetes.io' in token.payload) keys.unknownAccepted()
    if (check !== 'valid') return undefined
    const read = this.#read(token, check, () => true)
    const expiresAtSeconds = read.kind === 'signed' ? read.claims.expiresAtSeconds : undefined
    return expiresAtSeconds === undefined ? undefined : { token, expiresMs: expiresAtSeconds * 1000 }
  }

  #takeKeys(): void {
    const { keys } = this.#options.keys
    if (keys === this.#verifierKeys) return
    this.#verifierKeys = keys
    this.#verifier = new SignatureVerifier(keys)
    this.#signed.clear()
    this.#forged.clear()
  }

  async #judge(token: UnverifiedToken, hash: string): Promise<Judgement | Unjudged> {
    const { keys } = this.#options.keys
    const check = await this.#verifier.check(token)
    if (check === 'unknown-key') return { kind: 'unknown-key' }
    const judgement = this.#read(token, check)
    // Keys that were replaced meanwhile have no say any more.
    if (keys === this.#options.keys.keys)
      (judgement.kind === 'signed' ? this.#signed : this.#forged).set(hash, judgement)
    return judgement
  }

  #read(token: UnverifiedToken, check: SignatureCheck, isAudience = this.#isAudience): Judgement {
    if (check !== 'valid') return { kind: 'forged', why: 'its signature is not that of the API server' }
    try {
      const audiences = readAudiences(token.payload)
      const isForUs = audiences.length === 0 || audiences.some(isAudience)
      if (!isForUs) return { kind: 'forged', why: 'it is not for the API server' }
      const claims = claimsOf(token)
      return claims === undefined
        ? { kind: 'forged', why: 'it names no account' }
        : { kind: 'signed', claims, user: userOf(claims) }
    } catch (error) {
      if (error instanceof RefusedTokenError) return { kind: 'forged', why: error.message }
      throw error
    }
  }

  readonly #isAudience = (audience: string): boolean => this.#options.keys.isAudience(audience)

  #verdict({ claims, user }: SignedToken, hash: string, nowMs: number): OfflineVerdict {
    const { seen, rejected, deletedPods, time, graceMs } = this.#options
    const { pod } = claims.kubernetes
    if (rejected.has(hash)) return { kind: 'expired', why: 'the API server did not take it any more' }
    if (pod !== undefined && deletedPods.has(pod.uid))
      return { kind: 'expired', why: `its pod ${pod.name} was deleted` }
    const issuedMs = Math.max(claims.issuedAtSeconds ?? 0, claims.notBeforeSeconds ?? 0) * 1000
    // The API server has signed it, so it cannot be earlier than that, whatever the clock here says.
    time.signedAt(issuedMs)
    const endMs = claims.expiresAtSeconds === undefined ? Number.POSITIVE_INFINITY : claims.expiresAtSeconds * 1000
    if (Math.max(nowMs, issuedMs) <= endMs + TOKEN_LEEWAY_MS) return { kind: 'user', user, expiredForMs: 0 }
    const expiredForMs = seen.graceUsedMs(hash, Math.max(nowMs, issuedMs))
    if (expiredForMs === undefined)
      return { kind: 'expired', why: 'it has expired, and was not in use here before that' }
    if (expiredForMs > graceMs) return { kind: 'expired', why: 'it has expired, and its time of grace is over' }
    return { kind: 'user', user, expiredForMs }
  }
}

function isIssuedBy({ payload }: UnverifiedToken, keys: SigningKeys): boolean {
  const issuer = payload['iss']
  return typeof issuer === 'string' && keys.isIssuer(issuer)
}

/** `undefined` where it names no account. Throws a RefusedTokenError for claims that cannot be read. */
function claimsOf({ payload }: UnverifiedToken): TokenClaims | undefined {
  const claims = readClaims(payload)
  const { namespace, serviceAccount } = claims.kubernetes
  return namespace === '' || serviceAccount.name === '' || serviceAccount.uid === '' ? undefined : claims
}

/**
 * As the API server has it in reviews, but for the id of the credential: each token has another, so with it no verdict for the
 * token before would be found for the one after. It says nothing about what its owner may do.
 */
function userOf({ kubernetes }: TokenClaims): ServiceAccountUser {
  const { namespace, serviceAccount, pod, node } = kubernetes
  const user = serviceAccountUser({ namespace, serviceAccount, bound: { pod, node }, tokenId: '' })
  return { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] }
}

/** Which of several audiences the API server took a token for, nobody can tell. */
function onlyOne(audiences: readonly string[]): readonly string[] {
  return audiences.length === 1 ? audiences : []
}
