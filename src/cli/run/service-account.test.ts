import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/worlds/edge-hub.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { KubeClient } from '../../kube/client/client.ts'
import { ConnectionConfigError } from '../../kube/client/connection.ts'
import type { TransportRequest } from '../../kube/client/transport.ts'
import { TransportError } from '../../kube/client/transport-error.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { fetchAccount, parseAccountName } from './service-account.ts'

const account = { namespace: 'shop', name: 'cart' }
const caPem = certificatePem((await makeCa(new ManualClock())).certificate)
const granted = { spec: { audiences: [], expirationSeconds: 600 }, status: { token: 'abc\n' } }

type Answer = { readonly status?: number; readonly body: unknown } | Error

/** An API server that gives one answer to who creates and another to who reads. */
function clientOf(post: Answer, get: Answer, asked: string[] = []): KubeClient {
  const request = async ({ method, path, body }: TransportRequest) => {
    asked.push(`${method} ${path} ${Buffer.from((body as Uint8Array | undefined) ?? '').toString()}`.trim())
    const answer = method === 'POST' ? post : get
    if (answer instanceof Error) throw answer
    const text = Buffer.from(JSON.stringify(answer.body))
    const headers = { 'content-type': 'application/json' }
    return { status: answer.status ?? 200, headers, body: Readable.from([text]) }
  }
  const connection = {
    source: 'the test',
    server: 'https://x',
    namespace: 'default',
    tls: { skipVerify: false },
    credentials: { type: 'anonymous' as const },
  }
  const upgrade = async (): Promise<never> => await Promise.reject(new Error('not asked for'))
  return new KubeClient(connection, { transport: { request, upgrade, close: async () => {} } })
}

const refusal = (code: number, reason: string) => ({
  status: code,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: `${reason} it is` },
})

describe('a service account', () => {
  it('is a namespace and a name', () => {
    expect(parseAccountName('shop/cart')).toEqual(account)
  })

  it.each(['cart', 'a/b/c', '/cart', 'shop/', 'Shop/cart', 'shop/../x', ''])('is not %j', (text) => {
    expect(() => parseAccountName(text)).toThrow('--service-account: expected namespace/name')
  })

  it('has a token without a newline, a CA and a namespace', async () => {
    const asked: string[] = []
    const client = clientOf({ body: granted }, { body: { data: { 'ca.crt': caPem } } }, asked)
    expect(await fetchAccount(client, account)).toEqual({
      token: 'abc',
      caPem,
      namespace: 'shop',
      tokenLifeMs: 600_000,
    })
    expect(asked.map((line) => line.split(' ', 2).join(' '))).toEqual([
      'POST /api/v1/namespaces/shop/serviceaccounts/cart/token',
      'GET /api/v1/namespaces/shop/configmaps/kube-root-ca.crt',
    ])
    expect(asked[0]).toContain('"expirationSeconds":3600')
  })

  it.each([
    [refusal(404, 'NotFound'), 'NotFound it is; see "kubectl get serviceaccounts -A"'],
    [refusal(403, 'Forbidden'), 'give --kubeconfig with the rights to create serviceaccounts/token'],
    [refusal(500, 'InternalError'), 'cannot get a token for the service account shop/cart: InternalError it is'],
    [new TransportError('refused', 'nobody listens'), 'the API server of the test cannot be reached: nobody listens'],
    [
      new ConnectionConfigError('no such key file'),
      'cannot get a token for the service account shop/cart: no such key',
    ],
    [{ body: { spec: {} } }, 'without a token'],
  ])('that cannot be had: %j', async (answer, message) => {
    const client = clientOf(answer, { body: { data: { 'ca.crt': caPem } } })
    await expect(fetchAccount(client, account)).rejects.toThrow(message)
  })

  it('of a namespace without a CA is no use', async () => {
    await expect(fetchAccount(clientOf({ body: granted }, { body: { data: {} } }), account)).rejects.toThrow(
      'ConfigMap shop/kube-root-ca.crt holds no certificate',
    )
  })
})
