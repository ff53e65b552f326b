import { CompactSign } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { jwtAlgorithm, jwtKeyId } from '../../../identity/jwk.ts'
import { generateKeys, type KeyPair } from '../../../identity/keys.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import { serviceAccountTokens } from './authenticator.ts'
import type { FindObject } from './find-object.ts'
import { DEFAULT_ISSUER, type TokenGrant, TokenIssuer } from './issuer.ts'

const audiences = [DEFAULT_ISSUER]
const worker = { name: 'worker', uid: 'worker-uid' }
const pod = { name: 'pod-1', uid: 'pod-uid' }
const node = { name: 'node-1', uid: 'node-uid' }
const secret = { name: 'secret-1', uid: 'secret-uid' }

describe('ServiceAccount tokens', () => {
  let pair: KeyPair

  beforeAll(async () => {
    pair = await generateKeys()
  })

  function setUp() {
    const clock = new ManualClock()
    const objects = new Map<string, KubeObject>([
      ['serviceaccounts/default/worker', { metadata: { ...worker } }],
      ['pods/default/pod-1', { metadata: { ...pod } }],
      ['secrets/default/secret-1', { metadata: { ...secret } }],
      ['nodes//node-1', { metadata: { ...node } }],
    ])
    const find: FindObject = (...path) => Promise.resolve(objects.get(path.join('/')))
    const tokens = serviceAccountTokens({
      keys: [pair.publicKey],
      issuer: DEFAULT_ISSUER,
      apiAudiences: audiences,
      find,
      clock,
    })
    const issuer = new TokenIssuer({ key: pair.privateKey })
    const issue = (changes: Partial<TokenGrant> = {}): Promise<string> => {
      const always = { namespace: 'default', serviceAccount: worker, audiences, lifeSeconds: 600, bound: {} }
      return issuer.issue({ ...always, issuedAtMs: clock.nowMs(), ...changes })
    }
    return { clock, objects, tokens, issue }
  }

  const signed = async (payload: object): Promise<string> => {
    const header = { alg: jwtAlgorithm(pair.privateKey), kid: jwtKeyId(pair.privateKey) }
    return await new CompactSign(Buffer.from(JSON.stringify(payload))).setProtectedHeader(header).sign(pair.privateKey)
  }

  const wrong = (reason: string) => ({ outcome: 'wrong', reasons: [reason] })

  it('tell the user with its groups, and where the token lives', async () => {
    const { tokens, issue } = setUp()
    const answer = await tokens.authenticateToken(await issue({ bound: { pod, node } }), ['x', DEFAULT_ISSUER])
    expect(answer).toEqual({
      outcome: 'known',
      user: {
        name: 'system:serviceaccount:default:worker',
        uid: 'worker-uid',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default'],
        extra: {
          'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)],
          'authentication.kubernetes.io/node-name': ['node-1'],
          'authentication.kubernetes.io/node-uid': ['node-uid'],
          'authentication.kubernetes.io/pod-name': ['pod-1'],
          'authentication.kubernetes.io/pod-uid': ['pod-uid'],
        },
      },
      audiences,
    })
  })

  it('leave to others what is no JWT or has another issuer', async () => {
    const { tokens } = setUp()
    for (const token of ['word', await signed({ iss: 'https://elsewhere' }), await signed({})]) {
      expect(await tokens.authenticateToken(token, audiences)).toEqual({ outcome: 'absent' })
    }
  })

  it('are good for their audiences only', async () => {
    const { tokens, issue } = setUp()
    const token = await issue({ audiences: ['vault', 'bank'] })
    expect(await tokens.authenticateToken(token, ['bank', 'x'])).toMatchObject({ audiences: ['bank'] })
    const reason = `token audiences ["vault" "bank"] is invalid for the target audiences ["${DEFAULT_ISSUER}"]`
    expect(await tokens.authenticateToken(token, audiences)).toEqual(wrong(reason))
  })

  it('expire, with a minute for clocks that differ', async () => {
    const { tokens, issue, clock } = setUp()
    const token = await issue()
    await clock.advance(660_000)
    expect(await tokens.authenticateToken(token, audiences)).toMatchObject({ outcome: 'known' })
    await clock.advance(1)
    expect(await tokens.authenticateToken(token, audiences)).toEqual(wrong('service account token has expired'))
  })

  it('are not good before their time', async () => {
    const { tokens, issue, clock } = setUp()
    const early = await issue({ issuedAtMs: clock.nowMs() + 61_000 })
    expect(await tokens.authenticateToken(early, audiences)).toEqual(wrong('service account token is not valid yet'))
    await clock.advance(1_000)
    expect(await tokens.authenticateToken(early, audiences)).toMatchObject({ outcome: 'known' })
  })

  it.each([
    ['serviceaccounts/default/worker', {}, 'serviceaccounts "worker" not found'],
    ['pods/default/pod-1', { pod, node }, 'service account token has been invalidated'],
    ['secrets/default/secret-1', { secret }, 'service account token has been invalidated'],
    ['nodes//node-1', { node }, 'service account token has been invalidated'],
  ])('end with %s, at once', async (path, bound, reason) => {
    const { tokens, issue, objects } = setUp()
    const token = await issue({ bound })
    expect(await tokens.authenticateToken(token, audiences)).toMatchObject({ outcome: 'known' })
    objects.delete(path)
    expect(await tokens.authenticateToken(token, audiences)).toEqual(wrong(reason))
  })

  it.each([
    ['serviceaccounts/default/worker', {}, 'service account UID (new) does not match claim (worker-uid)'],
    ['pods/default/pod-1', { pod }, 'pod UID (new) does not match service account pod ref claim (pod-uid)'],
    [
      'secrets/default/secret-1',
      { secret },
      'secret UID (new) does not match service account secret ref claim (secret-uid)',
    ],
    ['nodes//node-1', { node }, 'node UID (new) does not match service account node ref claim (node-uid)'],
  ])('are not good for another %s of that name', async (path, bound, reason) => {
    const { tokens, issue, objects } = setUp()
    const token = await issue({ bound })
    objects.set(path, { metadata: { uid: 'new' } })
    expect(await tokens.authenticateToken(token, audiences)).toEqual(wrong(reason))
  })

  it.each([
    ['serviceaccounts/default/worker', worker, 'service account default/worker has been deleted'],
    ['pods/default/pod-1', pod, 'service account token has been invalidated'],
  ])('outlive the deletion of %s by a minute', async (path, { uid }, reason) => {
    const { tokens, issue, objects, clock } = setUp()
    const token = await issue({ bound: { pod } })
    objects.set(path, { metadata: { uid, deletionTimestamp: new Date(clock.nowMs()).toISOString() } })
    await clock.advance(60_000)
    expect(await tokens.authenticateToken(token, audiences)).toMatchObject({ outcome: 'known' })
    await clock.advance(1)
    expect(await tokens.authenticateToken(token, audiences)).toEqual(wrong(reason))
  })

  it('of a pod outlive its node', async () => {
    const { tokens, issue, objects } = setUp()
    const token = await issue({ bound: { pod, node } })
    objects.delete('nodes//node-1')
    expect(await tokens.authenticateToken(token, audiences)).toMatchObject({ outcome: 'known' })
  })

  it.each([
    { aud: [1] },
    { exp: 'tomorrow' },
    { jti: 5 },
    { 'kubernetes.io': 'x' },
    { 'kubernetes.io': { pod: [] } },
    { 'kubernetes.io': { serviceaccount: { name: 1 } } },
  ])('with claims of wrong types are refused: %j', async (claims) => {
    const { tokens } = setUp()
    const answer = await tokens.authenticateToken(await signed({ iss: DEFAULT_ISSUER, ...claims }), audiences)
    expect(answer).toEqual(wrong(expect.stringContaining('claims could not be read') as string))
  })
})
