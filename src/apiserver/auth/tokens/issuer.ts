/** Makes ServiceAccount tokens: JWTs that anybody can check who knows the public keys of the issuer. */
import { type KeyObject, randomUUID } from 'node:crypto'
import { CompactSign } from 'jose'
import { jwtAlgorithm, jwtKeyId } from '../../../identity/jwk.ts'
import type { BoundObjects, ClaimedObject } from '../../../identity/service-account/claims.ts'
import { serviceAccountUserName } from '../../../identity/service-account/user.ts'

/** Who issues the tokens, and the one audience of the API server itself. */
export const DEFAULT_ISSUER = 'https://kubernetes.default.svc'

/** What the kubelet asks for when a pod only takes the default token. */
const EXTENDED_LIFE_REQUEST_SECONDS = 60 * 60 + 7
/** How long such a token is really good for: old clients read their token once and never again. */
const EXTENDED_LIFE_SECONDS = 365 * 24 * 60 * 60

export interface TokenIssuerOptions {
  readonly key: KeyObject
  readonly issuer?: string
  /** Whom a token is for unless the request says otherwise; the issuer itself by default. */
  readonly apiAudiences?: readonly string[]
}

export interface TokenGrant {
  readonly namespace: string
  readonly serviceAccount: ClaimedObject
  readonly audiences: readonly string[]
  readonly lifeSeconds: number
  readonly bound: BoundObjects
  readonly issuedAtMs: number
}

export class TokenIssuer {
  readonly issuer: string
  readonly apiAudiences: readonly string[]
  readonly #key: KeyObject
  readonly #header: { readonly alg: string; readonly kid: string }

  constructor({ key, issuer = DEFAULT_ISSUER, apiAudiences = [issuer] }: TokenIssuerOptions) {
    this.issuer = issuer
    this.apiAudiences = apiAudiences
    this.#key = key
    this.#header = { alg: jwtAlgorithm(key), kid: jwtKeyId(key) }
  }

  async issue(grant: TokenGrant): Promise<string> {
    const payload = Buffer.from(JSON.stringify(this.#claims(grant)))
    return await new CompactSign(payload).setProtectedHeader(this.#header).sign(this.#key)
  }

  /** The claims of a token, in alphabetical order, as API servers write them. */
  #claims(grant: TokenGrant): object {
    const issuedAt = Math.floor(grant.issuedAtMs / 1000)
    const isExtended = this.#isExtended(grant)
    return {
      aud: grant.audiences,
      exp: issuedAt + (isExtended ? EXTENDED_LIFE_SECONDS : grant.lifeSeconds),
      iat: issuedAt,
      iss: this.issuer,
      jti: randomUUID(),
      'kubernetes.io': {
        namespace: grant.namespace,
        ...boundClaims(grant.bound),
        serviceaccount: reference(grant.serviceAccount),
        ...(isExtended ? { warnafter: issuedAt + grant.lifeSeconds } : {}),
      },
      nbf: issuedAt,
      sub: serviceAccountUserName(grant.namespace, grant.serviceAccount.name),
    }
  }

  #isExtended({ bound, lifeSeconds, audiences }: TokenGrant): boolean {
    const isForApiOnly = audiences.every((audience) => this.apiAudiences.includes(audience))
    return bound.pod !== undefined && lifeSeconds === EXTENDED_LIFE_REQUEST_SECONDS && isForApiOnly
  }
}

function boundClaims({ node, pod, secret }: BoundObjects): object {
  return {
    ...(node === undefined ? {} : { node: reference(node) }),
    ...(pod === undefined ? {} : { pod: reference(pod) }),
    ...(secret === undefined ? {} : { secret: reference(secret) }),
  }
}

function reference({ name, uid }: ClaimedObject): object {
  return uid === '' ? { name } : { name, uid }
}
