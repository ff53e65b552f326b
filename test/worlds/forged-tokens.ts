/** Tokens that look like those of a ServiceAccount and are none, made from a good one and from what everybody may know. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
} from 'node:crypto'
import { CompactSign } from 'jose'
import { jwtAlgorithm, jwtKeyId } from '../../src/identity/jwk.ts'

/** The public half of the key, as the API server tells it at `/openid/v1/jwks`. */
export interface KnownKey extends JsonWebKey {
  readonly kid?: string
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
}

/** The same claims with the changes, signed with that key: with the cluster's own it is a real token. */
export async function resigned(key: KeyObject, token: string, changes: object, header: object = {}): Promise<string> {
  const claims = { ...decode(token.split('.')[1] ?? ''), ...changes }
  return await new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: jwtAlgorithm(key), kid: jwtKeyId(key), ...header })
    .sign(key)
}

export function forgedTokens(token: string, key: KnownKey): readonly (readonly [what: string, token: string])[] {
  const [head = '', payload = '', signature = ''] = token.split('.')
  const header = decode(head)
  const claims = decode(payload)
  const administrator = { ...claims, sub: 'system:serviceaccount:kube-system:admin' }
  const publicKey = createPublicKey({ key, format: 'jwk' })
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const der = publicKey.export({ type: 'spki', format: 'der' })
  const hmac = (secret: string | Buffer, alg = 'HS256'): string => {
    const text = `${encode({ ...header, alg })}.${encode(administrator)}`
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
  }
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const strange = (more: object): string => {
    const text = `${encode({ ...header, alg: 'RS256', ...more })}.${encode(administrator)}`
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
  }
  const jwk = createPublicKey(createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))).export({
    format: 'jwk',
  })
  return [
    ...['none', 'None', 'NONE', 'nOnE', ''].map(
      (alg) => [`alg ${JSON.stringify(alg)}`, `${encode({ alg })}.${encode(administrator)}.`] as const,
    ),
    ['alg none with the old signature', `${encode({ ...header, alg: 'none' })}.${payload}.${signature}`],
    ['no alg', `${encode({ kid: header['kid'] })}.${payload}.${signature}`],
    ['HMAC with the public key in PEM', hmac(pem)],
    ['HMAC with the public key in PEM, without its last line break', hmac(pem.trimEnd())],
    ['HMAC with the public key in DER', hmac(der)],
    ['HMAC with the public key as a JWK', hmac(JSON.stringify(key))],
    ['HMAC with nothing', hmac('')],
    ['HMAC under the name of the right algorithm', hmac(pem, String(header['alg']))],
    ['another account', `${head}.${encode(administrator)}.${signature}`],
    ['another key', strange({})],
    ['another key under an unknown name', strange({ kid: 'x' })],
    ['another key that it brings along', strange({ jwk })],
    [
      'another key from elsewhere',
      strange({ jku: 'https://elsewhere.example/jwks', x5u: 'https://elsewhere.example/x5u' }),
    ],
    ['another name of the key', `${encode({ ...header, kid: 'x' })}.${payload}.${signature}`],
    ['a name of the key that is a path', `${encode({ ...header, kid: '../../../dev/null' })}.${payload}.${signature}`],
    ['a critical header', `${encode({ ...header, crit: ['exp'] })}.${payload}.${signature}`],
    ['no signature', `${head}.${payload}.`],
    ['two parts', `${head}.${payload}`],
    ['four parts', `${token}.${signature}`],
    ['half a signature', `${head}.${payload}.${signature.slice(0, signature.length / 2)}`],
    ['padding', `${token}=`],
    ['a later end', `${head}.${encode({ ...claims, exp: 2 ** 40 })}.${signature}`],
    ['other audiences', `${head}.${encode({ ...claims, aud: ['x'] })}.${signature}`],
    ['huge claims', `${head}.${encode({ ...claims, extra: 'x'.repeat(30_000) })}.${signature}`],
    ['deep claims', `${head}.${Buffer.from('['.repeat(20_000)).toString('base64url')}.${signature}`],
    ['a header that is no object', `${Buffer.from('[]').toString('base64url')}.${payload}.${signature}`],
    ['nothing between the dots', '..'],
  ]
}
