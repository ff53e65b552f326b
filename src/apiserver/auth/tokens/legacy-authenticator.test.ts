import { CompactSign } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { jwtAlgorithm } from '../../../identity/jwk.ts'
import { generateKeys, type KeyPair } from '../../../identity/keys.ts'
import type { KubeObject, ObjectMeta } from '../../../kube/objects.ts'
import { INVALID_SINCE_LABEL, LEGACY_ISSUER, legacyServiceAccountTokens } from './legacy-authenticator.ts'

const prefix = 'kubernetes.io/serviceaccount'
const good = {
  iss: LEGACY_ISSUER,
  sub: 'system:serviceaccount:default:worker',
  [`${prefix}/namespace`]: 'default',
  [`${prefix}/secret.name`]: 'kept',
  [`${prefix}/service-account.name`]: 'worker',
  [`${prefix}/service-account.uid`]: 'worker-uid',
}

describe('legacy ServiceAccount tokens', () => {
  let pair: KeyPair

  beforeAll(async () => {
    pair = await generateKeys()
  })

  const ask = async (claims: object, secret: ObjectMeta | 'other token' | undefined, account?: ObjectMeta) => {
    const payload = Buffer.from(JSON.stringify({ ...good, ...claims }))
    const header = { alg: jwtAlgorithm(pair.privateKey) }
    const token = await new CompactSign(payload).setProtectedHeader(header).sign(pair.privateKey)
    const data = { token: Buffer.from(secret === 'other token' ? 'other' : token).toString('base64') }
    const objects: Record<string, KubeObject | undefined> = {
      secrets: secret === undefined ? undefined : { metadata: secret === 'other token' ? {} : secret, data },
      serviceaccounts: account === undefined ? undefined : { metadata: account },
    }
    const tokens = legacyServiceAccountTokens({
      keys: [pair.publicKey],
      apiAudiences: ['api'],
      find: (resource) => Promise.resolve(objects[resource]),
    })
    return await tokens.authenticateToken(token, ['api'])
  }

  const worker = { uid: 'worker-uid' }

  it('are good while they stand in their Secret', async () => {
    const user = {
      name: 'system:serviceaccount:default:worker',
      uid: 'worker-uid',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default'],
      extra: {},
    }
    expect(await ask({}, {}, worker)).toEqual({ outcome: 'known', user, audiences: ['api'] })
  })

  it('leave tokens of other issuers to others', async () => {
    expect(await ask({ iss: 'https://kubernetes.default.svc' }, {}, worker)).toEqual({ outcome: 'absent' })
  })

  it.each<[string, object, ObjectMeta | 'other token' | undefined, ObjectMeta | undefined]>([
    ['Token has been invalidated', {}, undefined, worker],
    ['Token has been invalidated', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }, worker],
    ["Token does not match server's copy", {}, 'other token', worker],
    ['has been marked invalid', {}, { labels: { [INVALID_SINCE_LABEL]: '2026-01-01' } }, worker],
    ['serviceaccounts "worker" not found', {}, {}, undefined],
    [
      'ServiceAccount default/worker has been deleted',
      {},
      {},
      { ...worker, deletionTimestamp: '2026-01-01T00:00:00Z' },
    ],
    ['ServiceAccount UID (new) does not match claim (worker-uid)', {}, {}, { uid: 'new' }],
    ['sub claim is missing', { sub: '' }, {}, worker],
    ['sub claim is invalid', { sub: 'system:serviceaccount:default:root' }, {}, worker],
    ['namespace claim is missing', { [`${prefix}/namespace`]: undefined }, {}, worker],
    ['secretName claim is missing', { [`${prefix}/secret.name`]: undefined }, {}, worker],
    ['serviceAccountName claim is missing', { [`${prefix}/service-account.name`]: undefined }, {}, worker],
    ['serviceAccountUID claim is missing', { [`${prefix}/service-account.uid`]: undefined }, {}, worker],
    ['claims could not be read', { sub: 1 }, {}, worker],
  ])('are refused: %s', async (reason, claims, secret, account) => {
    const answer = await ask(claims, secret, account)
    expect(answer).toEqual({ outcome: 'wrong', reasons: [expect.stringContaining(reason)] })
  })
})
