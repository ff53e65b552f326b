/**
 * Who readers are and what they may: asked of the API server while it can be, and of what it said last while it cannot. Online a
 * denial is never answered from here: whoever is denied asks the API server itself.
 */
import { BoundedMap } from '../../runtime/bounded-map.ts'
import type { PoolName } from '../upstream/upstream.ts'
import type { AccessReviews, Answer } from './access-reviews.ts'
import { type Identity, nodeIdentity } from './identity.ts'
import type { TokenReviews } from './token-review.ts'
import type { Access, Verdict, Verdicts } from './verdicts.ts'

/** More than a node has pods; beyond, the one used least recently is found out anew. */
const MAX_KNOWN_IDENTITIES = 4_096

export interface Reader {
  readonly kind: 'node' | 'token' | 'anonymous'
  /** By which connections the reader's own requests go up. */
  readonly pool: PoolName
  /** Never kept longer than the reader's request. */
  readonly token: string | undefined
  /** By which the token is remembered; empty where there is none. */
  readonly tokenHash: string
}

/** The header that the reader's own requests carry. */
export function authorizationOf({ token }: Reader): string | undefined {
  return token === undefined ? undefined : `Bearer ${token}`
}

/** What is known of a token without the API server. */
export type Recognised =
  | { readonly kind: 'known'; readonly identity: Identity }
  /** It is nobody's, or nobody's any more: 401. */
  | { readonly kind: 'rejected'; readonly why: string }
  /** It may be good; here nobody can tell: 503. */
  | { readonly kind: 'unknown'; readonly why: string }

/** Not a token that can be recognised here at all. */
export interface Foreign {
  readonly kind: 'foreign'
  readonly why: string
}

export interface ReadersOptions {
  readonly node: string
  readonly reviews: TokenReviews
  readonly access: AccessReviews
  readonly verdicts: Verdicts
  /** Hears of tokens that the API server has accepted. */
  readonly accepted?: (token: string) => void
  /** Hears of each that it has not. */
  readonly rejected?: (token: string) => void
  /** Whether the account of that name is one of kube-proxy, which is the node's own as the kubelet is. */
  readonly isKubeProxy?: (username: string) => boolean
  /** Recognises tokens by what is kept, where their identity is not in memory. */
  readonly recognise?: (token: string, hash: string) => Promise<Recognised | Foreign>
  /** Whether it has been offline for so long that tokens which only the API server knows are good no more. */
  readonly isGraceOver?: () => boolean
}

export class Readers {
  readonly #options: ReadersOptions
  readonly #node: Identity
  /** Of tokens that the API server has accepted, by their hash. Those used last stand last. */
  readonly #identities = new BoundedMap<string, Identity>(MAX_KNOWN_IDENTITIES)

  constructor(options: ReadersOptions) {
    this.#options = options
    this.#node = nodeIdentity(options.node)
  }

  /** Undefined where the API server does not say. */
  async identify(reader: Reader): Promise<Identity | undefined> {
    if (reader.kind === 'node') return this.#node
    if (reader.token === undefined) return undefined
    const identity = await this.#options.reviews.identityOf(reader.token, reader.tokenHash)
    if (identity !== undefined) this.#remember(reader, identity)
    return identity
  }

  /**
   * The name of a token's owner; undefined where nobody knows. By its signature first: whoever wants no more than the name does
   * not wait for an API server that may be away.
   */
  async nameOf(token: string, tokenHash: string): Promise<string | undefined> {
    const reader: Reader = { kind: 'token', pool: 'token', token, tokenHash }
    const recognised = await this.recognise(reader)
    const identity = recognised.kind === 'known' ? recognised.identity : await this.identify(reader)
    return identity?.user.username
  }

  /** Whether it is one of the node's own programs: the kubelet, by the node's certificate, or kube-proxy. */
  async isOfNode(reader: Reader): Promise<boolean> {
    if (reader.kind === 'node') return true
    const { isKubeProxy } = this.#options
    const identity = isKubeProxy && (this.known(reader) ?? (await this.identify(reader)))
    return identity !== undefined && isKubeProxy?.(identity.user.username) === true
  }

  /** Who it is, if the API server says that it may; both are asked at once. */
  async admit(reader: Reader, access: Access): Promise<Identity | undefined> {
    const [identity, verdict] = await Promise.all([this.identify(reader), this.review(reader, access)])
    // Who it is may have been found out after what it may.
    if (identity !== undefined) this.#learnVerdict(identity, access, verdict)
    return verdict === 'allowed' ? identity : undefined
  }

  /** Whether it may, as the API server says now; that is what is known from here on. Undefined where there is no answer. */
  async review(reader: Reader, access: Access): Promise<Answer | undefined> {
    const asker = { pool: reader.pool, authorization: authorizationOf(reader), asker: reader.tokenHash || reader.kind }
    const answer = await this.#options.access.may(asker, access)
    const identity = this.known(reader)
    if (answer === 'rejected') this.#rejected(reader)
    else if (identity !== undefined) this.#learnVerdict(identity, access, answer)
    return answer
  }

  #learnVerdict({ key }: Identity, access: Access, answer: Answer | undefined): void {
    if (answer === 'allowed' || answer === 'denied') this.#options.verdicts.learn(key, access, answer)
  }

  /** What the API server's own answer to a request of this reader says about its rights. */
  async learn(reader: Reader, access: Access, status: number): Promise<void> {
    if (status === 401) this.#rejected(reader)
    if (status !== 200 && status !== 403) return
    const identity = this.known(reader) ?? (await this.identify(reader))
    if (identity !== undefined)
      this.#options.verdicts.learn(identity.key, access, status === 200 ? 'allowed' : 'denied')
  }

  /** Whom things are counted for: the node for nobody, everybody else by who they are, whatever token they show. */
  accountOf(reader: Reader): string {
    return reader.kind === 'node' ? '' : (this.known(reader)?.key ?? (reader.tokenHash || reader.kind))
  }

  /** Who it is, without the API server. */
  async recognise(reader: Reader): Promise<Recognised> {
    const known = this.known(reader)
    const { recognise } = this.#options
    if (reader.kind === 'node' && known !== undefined) return { kind: 'known', identity: known }
    if (reader.token === undefined) return { kind: 'unknown', why: 'the request has no credential' }
    const recognised = await recognise?.(reader.token, reader.tokenHash)
    // What is no token of a ServiceAccount is known only from what the API server said of it in this life.
    if (recognised !== undefined && recognised.kind !== 'foreign') return recognised
    if (known !== undefined && this.#options.isGraceOver?.() === true)
      return { kind: 'rejected', why: 'only the API server knows this token, and it has been away for too long' }
    if (known !== undefined) return { kind: 'known', identity: known }
    if (recognised !== undefined) return { kind: 'rejected', why: recognised.why }
    return { kind: 'unknown', why: 'this token was never seen here' }
  }

  verdictOf(identity: Identity, access: Access): Verdict | undefined {
    return this.#options.verdicts.find(identity.key, access)
  }

  /** Who it is, as far as the API server has said so in this life. */
  known(reader: Reader): Identity | undefined {
    return reader.kind === 'node' ? this.#node : this.#identities.get(reader.tokenHash)
  }

  #rejected({ token, tokenHash }: Reader): void {
    this.#identities.delete(tokenHash)
    this.#options.reviews.forget(tokenHash)
    if (token !== undefined) this.#options.rejected?.(token)
  }

  #remember({ token, tokenHash: hash }: Reader, identity: Identity): void {
    if (token !== undefined) this.#options.accepted?.(token)
    this.#identities.set(hash, identity)
  }
}
