import { beforeAll, describe, expect, it } from 'vitest'
import { generateKeys } from '../../../identity/keys.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { forbidden } from '../../../kube/status/resource-errors.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import type { FindObject } from './find-object.ts'
import { DEFAULT_ISSUER, TokenIssuer } from './issuer.ts'
import { answerTokenRequest, type TokenRequest } from './token-request.ts'

const account = { namespace: 'default', name: 'worker' }
const objects = new Map<string, KubeObject>([
  ['serviceaccounts/default/worker', { metadata: { name: 'worker', uid: 'worker-uid' } }],
  [
    'pods/default/pod-1',
    { metadata: { name: 'pod-1', uid: 'pod-uid' }, spec: { serviceAccountName: 'worker', nodeName: 'node-1' } },
  ],
  ['nodes//node-1', { metadata: { name: 'node-1', uid: 'node-uid' } }],
])
const find: FindObject = (...path) => Promise.resolve(objects.get(path.join('/')))

describe('answerTokenRequest', () => {
  let issuer: TokenIssuer

  beforeAll(async () => {
    issuer = new TokenIssuer({ key: (await generateKeys()).privateKey })
  })

  const ask = async (request: TokenRequest, validate = (_completed: KubeObject): Promise<void> => Promise.resolve()) =>
    await answerTokenRequest(request, account, { issuer, find, clock: new ManualClock(), validate })

  const claimsOf = (answer: KubeObject): unknown => {
    const { token } = answer['status'] as { token: string }
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  }

  it('completes the request and adds the token', async () => {
    expect(await ask({ kind: 'TokenRequest', metadata: { labels: { a: 'b' } } })).toEqual({
      kind: 'TokenRequest',
      metadata: { labels: { a: 'b' }, ...account, uid: 'worker-uid', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { audiences: [DEFAULT_ISSUER], expirationSeconds: 3600, boundObjectRef: null },
      status: { token: expect.any(String) as string, expirationTimestamp: '2026-01-01T01:00:00Z' },
    })
  })

  it('promises the asked life even when the token lives longer', async () => {
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'pod-1' }
    const answer = await ask({ spec: { expirationSeconds: 3607, boundObjectRef } })
    expect(answer).toHaveProperty('status.expirationTimestamp', '2026-01-01T01:00:07Z')
    expect(claimsOf(answer)).toMatchObject({
      exp: Date.UTC(2027, 0, 1) / 1000,
      'kubernetes.io': { pod: { name: 'pod-1', uid: 'pod-uid' }, node: { name: 'node-1', uid: 'node-uid' } },
    })
  })

  it.each([
    [599, 'may not specify a duration less than 10 minutes'],
    [4_294_967_297, 'may not specify a duration larger than 2^32 seconds'],
    [9_007_199_254_740_993n, 'may not specify a duration larger than 2^32 seconds'],
    [-9_007_199_254_740_993n, 'may not specify a duration less than 10 minutes'],
  ])('refuses a life of %s seconds', async (expirationSeconds, why) => {
    await expect(ask({ spec: { expirationSeconds } })).rejects.toMatchObject({
      code: 422,
      message: `TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: ${expirationSeconds}: ${why}`,
    })
  })

  it('lets the completed request be judged before anything is looked up for it', async () => {
    const refusal = forbidden({ group: '', resource: 'serviceaccounts' }, 'worker', 'not today')
    const seen: KubeObject[] = []
    const validate = (completed: KubeObject): Promise<void> => {
      seen.push(completed)
      return Promise.reject(refusal)
    }
    const boundObjectRef = { kind: 'Pod', name: 'nobody' }
    await expect(ask({ spec: { boundObjectRef }, status: { token: 'mine' } }, validate)).rejects.toBe(refusal)
    expect(seen).toMatchObject([{ metadata: { uid: 'worker-uid' }, spec: { expirationSeconds: 3600 }, status: {} }])
    expect(seen[0]).not.toHaveProperty('status.token')
  })
})
