/** An API server as far as its ServiceAccount tokens go: makes them, and publishes its keys. */
import { CompactSign } from 'jose'
import { jwkSet, jwtAlgorithm, jwtKeyId } from '../../src/identity/jwk.ts'
import { generateKeys, type KeyKind, type KeyPair } from '../../src/identity/keys.ts'

export const ISSUER = 'https://kubernetes.default.svc.cluster.local'

export interface TokenWish {
  readonly key?: KeyPair
  readonly header?: Readonly<Record<string, unknown>>
  readonly issuer?: string
  readonly audiences?: unknown
  readonly issuedMs?: number
  readonly lifeMs?: number
  readonly podUid?: string
  readonly kubernetes?: Readonly<Record<string, unknown>> | undefined
  readonly id?: string
}

export class TokenIssuer {
  keys: KeyPair[] = []
  issuer = ISSUER
  /** How often each document was asked for. */
  readonly asked: string[] = []
  problem: Error | undefined

  async addKey(kind?: KeyKind): Promise<KeyPair> {
    const pair = await generateKeys(kind)
    this.keys.unshift(pair)
    return pair
  }

  readonly fetch = async (path: string): Promise<{ status: number; text: string }> => {
    this.asked.push(path)
    if (this.problem !== undefined) throw this.problem
    const document =
      path === '/openid/v1/jwks' ? jwkSet(this.keys.map(({ publicKey }) => publicKey)) : { issuer: this.issuer }
    return { status: 200, text: JSON.stringify(document) }
  }

  async token(nowMs: number, wish: TokenWish = {}): Promise<string> {
    const key = wish.key ?? this.keys[0]
    if (key === undefined) throw new Error('this issuer has no key yet')
    const { privateKey } = key
    const { issuedMs = nowMs, lifeMs = 3_600_000, podUid = 'pod-uid-1', audiences = [ISSUER] } = wish
    const usual = {
      namespace: 'shop',
      serviceaccount: { name: 'reader', uid: 'sa-uid-1' },
      pod: { name: 'reader-0', uid: podUid },
      node: { name: 'edge-1', uid: 'node-uid-1' },
    }
    const payload = {
      iss: wish.issuer ?? this.issuer,
      sub: 'system:serviceaccount:shop:reader',
      aud: audiences,
      iat: issuedMs / 1000,
      nbf: issuedMs / 1000,
      exp: (issuedMs + lifeMs) / 1000,
      jti: wish.id ?? 'an-id',
      'kubernetes.io': 'kubernetes' in wish ? wish.kubernetes : usual,
    }
    const header = { alg: jwtAlgorithm(privateKey), kid: jwtKeyId(privateKey), ...wish.header }
    return await new CompactSign(Buffer.from(JSON.stringify(payload))).setProtectedHeader(header).sign(privateKey)
  }
}
