/** What all JWTs of one issuer have in common: the signature, and whom they are for. */
import type { KeyObject } from 'node:crypto'
import { type JsonObject, readAudiences } from '../../../identity/service-account/claims.ts'
import { RefusedTokenError } from '../../../identity/service-account/refused-token.ts'
import {
  ownVerificationKey,
  parseToken,
  type SignatureCheck,
  SignatureVerifier,
  type UnverifiedToken,
} from '../../../identity/service-account/signed-token.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import type { UserInfo } from '../../request/user.ts'
import { commonAudiences, type TokenAuthentication, type TokenAuthenticator } from './token-authenticator.ts'

export interface JwtAuthenticatorOptions {
  /** Public or private; tokens of any of them are believed, so that keys can be replaced. */
  readonly keys: readonly KeyObject[]
  readonly issuer: string
  /** What tokens without an audience are for. */
  readonly apiAudiences: readonly string[]
  /** Judges the claims of a token whose signature is good; throws a RefusedTokenError. */
  readonly userOf: (payload: JsonObject, text: string) => Promise<UserInfo>
}

const signatureReasons: Readonly<Record<Exclude<SignatureCheck, 'valid'>, string>> = {
  'unknown-key': 'invalid signature, no keys found',
  'bad-signature': 'go-jose/go-jose: error in cryptographic primitive',
}

export class JwtAuthenticator implements TokenAuthenticator {
  readonly #options: JwtAuthenticatorOptions
  readonly #verifier: SignatureVerifier

  constructor(options: JwtAuthenticatorOptions) {
    this.#options = options
    this.#verifier = new SignatureVerifier(options.keys.map(ownVerificationKey))
  }

  async authenticateToken(text: string, asked: readonly string[]): Promise<TokenAuthentication> {
    const token = parseToken(text)
    // Not yet verified, but enough to leave the token to others.
    if (token?.payload['iss'] !== this.#options.issuer) return { outcome: 'absent' }
    try {
      return await this.#judge(token, asked)
    } catch (error) {
      if (error instanceof RefusedTokenError) return { outcome: 'wrong', reasons: [error.message] }
      throw error
    }
  }

  async #judge(token: UnverifiedToken, asked: readonly string[]): Promise<TokenAuthentication> {
    const signature = await this.#verifier.check(token)
    if (signature !== 'valid') throw new RefusedTokenError(signatureReasons[signature])
    const claimed = readAudiences(token.payload)
    const offered = claimed.length === 0 ? this.#options.apiAudiences : claimed
    const audiences = commonAudiences(offered, asked)
    if (audiences.length === 0) {
      const mismatch = `token audiences ${goList(offered)} is invalid for the target audiences ${goList(asked)}`
      throw new RefusedTokenError(mismatch)
    }
    return { outcome: 'known', user: await this.#options.userOf(token.payload, token.text), audiences }
  }
}

function goList(texts: readonly string[]): string {
  return `[${texts.map(goQuote).join(' ')}]`
}
