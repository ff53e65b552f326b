import { beforeAll, describe, expect, it } from 'vitest'
import { RequestHeaders, type ResponseHeaders } from '../../../http/server/exchange.ts'
import { generateKeys } from '../../../identity/keys.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import type { ResourceRequest } from '../../../kube/request-info.ts'
import { EMPTY_QUERY } from '../../../kube/request-query.ts'
import { forbidden } from '../../../kube/status/resource-errors.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import type { FindObject } from '../../auth/tokens/find-object.ts'
import { TokenIssuer } from '../../auth/tokens/issuer.ts'
import type { RequestContext } from '../../request/handler.ts'
import { anonymousUser } from '../../request/user.ts'
import { Admission, type AdmissionPlugin, type AdmissionRequest } from '../admission.ts'
import { TokenSubresource } from './token.ts'

const info = {
  kind: 'resource',
  verb: 'create',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'serviceaccounts',
  subresource: 'token',
  namespace: 'default',
  name: 'worker',
} as ResourceRequest

describe('TokenSubresource', () => {
  let issuer: TokenIssuer

  beforeAll(async () => {
    issuer = new TokenIssuer({ key: (await generateKeys()).privateKey })
  })

  const post = async (body: object, plugin: AdmissionPlugin = { name: 'none' }, request = info) => {
    const find: FindObject = (_resource, _namespace, name) =>
      Promise.resolve(name === 'worker' ? { metadata: { name, uid: 'worker-uid' } } : undefined)
    const parts = { issuer, find, clock: new ManualClock(), admission: new Admission([plugin]) }
    let served: { status: number; headers: ResponseHeaders; body: KubeObject } | undefined
    const exchange = {
      headers: new RequestHeaders([['content-type', 'application/json']]),
      readBody: () => Promise.resolve(Buffer.from(JSON.stringify(body))),
      respond: (status: number, headers: ResponseHeaders, answer: Buffer) => {
        served = { status, headers, body: JSON.parse(answer.toString()) as KubeObject }
      },
    }
    const shared = {
      responseHeaders: {},
      warnings: new Set<string>(),
      query: EMPTY_QUERY,
      user: anonymousUser,
      turn: () => undefined,
    }
    const context = { exchange, info: request, ...shared } as unknown as RequestContext
    return { handled: await new TokenSubresource(parts).handle(context, request), served }
  }

  it('answers with the request and its token', async () => {
    const { served } = await post({ spec: { expirationSeconds: 600 } })
    expect(served).toMatchObject({ status: 201, headers: { 'content-type': 'application/json' } })
    expect(served?.body).toMatchObject({
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name: 'worker', namespace: 'default', uid: 'worker-uid' },
      spec: { expirationSeconds: 600, boundObjectRef: null },
      status: { expirationTimestamp: '2026-01-01T00:10:00Z' },
    })
  })

  it('lets admission change and refuse the request', async () => {
    const seen: AdmissionRequest[] = []
    const plugin: AdmissionPlugin = {
      name: 'strict',
      admit: ({ object }) => {
        if (object !== undefined) object['spec'] = { expirationSeconds: 700 }
      },
      validate: (request) => {
        seen.push(request)
        throw forbidden({ group: '', resource: 'serviceaccounts' }, 'worker', 'not today')
      },
    }
    await expect(post({}, plugin)).rejects.toMatchObject({ code: 403 })
    expect(seen).toMatchObject([
      { operation: 'CREATE', subresource: 'token', name: 'worker', object: { spec: { expirationSeconds: 700 } } },
    ])
  })

  it.each([
    { ...info, verb: 'get' as const },
    { ...info, subresource: '' },
    { ...info, resource: 'pods' },
    { ...info, apiGroup: 'example.com' },
  ])('leaves other requests to others', async (request) => {
    expect(await post({}, { name: 'none' }, request)).toEqual({ handled: false, served: undefined })
  })
})
