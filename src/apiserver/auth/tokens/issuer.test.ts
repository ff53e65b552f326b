import { beforeAll, describe, expect, it } from 'vitest'
import { jwtKeyId } from '../../../identity/jwk.ts'
import { generateKeys, type KeyPair } from '../../../identity/keys.ts'
import { DEFAULT_ISSUER, type TokenGrant, TokenIssuer } from './issuer.ts'

const issuedAtMs = Date.UTC(2026, 0, 1, 0, 0, 0, 999)
const iat = Date.UTC(2026, 0, 1) / 1000
const pod = { name: 'pod-1', uid: 'pod-uid' }

const grant: TokenGrant = {
  namespace: 'default',
  serviceAccount: { name: 'worker', uid: 'worker-uid' },
  audiences: [DEFAULT_ISSUER],
  lifeSeconds: 600,
  bound: {},
  issuedAtMs,
}

describe('TokenIssuer', () => {
  let pair: KeyPair

  beforeAll(async () => {
    pair = await generateKeys()
  })

  const open = async (changes: Partial<TokenGrant> = {}, apiAudiences?: readonly string[]) => {
    const options = { key: pair.privateKey, ...(apiAudiences === undefined ? {} : { apiAudiences }) }
    const [header = '', payload = ''] = (await new TokenIssuer(options).issue({ ...grant, ...changes })).split('.')
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
    return { header: read(header), claims: read(payload) }
  }

  it('writes the claims of an API server, and names its key', async () => {
    const { header, claims } = await open()
    expect(header).toEqual({ alg: 'ES256', kid: jwtKeyId(pair.publicKey) })
    expect(claims).toEqual({
      aud: [DEFAULT_ISSUER],
      exp: iat + 600,
      iat,
      iss: DEFAULT_ISSUER,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'worker', uid: 'worker-uid' } },
      nbf: iat,
      sub: 'system:serviceaccount:default:worker',
    })
  })

  it('writes what the token is bound to, and no empty uid', async () => {
    const { claims } = await open({ bound: { pod, node: { name: 'node-1', uid: '' } } })
    expect(claims['kubernetes.io']).toMatchObject({ pod, node: { name: 'node-1' } })
    expect(claims['kubernetes.io']).not.toHaveProperty('node.uid')
  })

  it('gives every token an id of its own', async () => {
    expect((await open()).claims['jti']).not.toBe((await open()).claims['jti'])
  })

  it.each<[string, Partial<TokenGrant>, number, number | undefined]>([
    ['default token of a pod', { bound: { pod }, lifeSeconds: 3607 }, 31_536_000, 3607],
    ['pod, another life', { bound: { pod }, lifeSeconds: 3606 }, 3606, undefined],
    ['no pod', { bound: { secret: pod }, lifeSeconds: 3607 }, 3607, undefined],
    ['pod, another audience too', { bound: { pod }, lifeSeconds: 3607, audiences: ['api', 'x'] }, 3607, undefined],
  ])('extends the life of the default token of a pod only: %s', async (_case, changes, life, warnAfter) => {
    const { claims } = await open({ audiences: ['api'], ...changes }, ['api', 'api-2'])
    expect(claims['exp']).toBe(iat + life)
    const { warnafter } = claims['kubernetes.io'] as { warnafter?: number }
    expect(warnafter).toBe(warnAfter === undefined ? undefined : iat + warnAfter)
  })
})
