/**
 * ServiceAccount tokens beside a real kube-apiserver that has the same key and the same objects: requests, reviews,
 * refusals and discovery documents must come out alike, and each side must believe the other's tokens.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CompactSign } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StaticTokens } from '../../src/apiserver/auth/authn/static-tokens.ts'
import { serviceAccountTokens } from '../../src/apiserver/auth/tokens/authenticator.ts'
import type { FindObject } from '../../src/apiserver/auth/tokens/find-object.ts'
import { DEFAULT_ISSUER, TokenIssuer } from '../../src/apiserver/auth/tokens/issuer.ts'
import { LEGACY_ISSUER, legacyServiceAccountTokens } from '../../src/apiserver/auth/tokens/legacy-authenticator.ts'
import type { TokenAuthenticator } from '../../src/apiserver/auth/tokens/token-authenticator.ts'
import { answerTokenRequest } from '../../src/apiserver/auth/tokens/token-request.ts'
import { reviewToken } from '../../src/apiserver/auth/tokens/token-review.ts'
import { ApiTokenAuthenticator, UnionTokenAuthenticator } from '../../src/apiserver/auth/tokens/union-tokens.ts'
import { JWKS_PATH, OPENID_CONFIGURATION_PATH, openIdHandler } from '../../src/apiserver/delegation/openid-handler.ts'
import { type ExpectedKind, inOrder } from '../../src/apiserver/objects/decode-body.ts'
import type { RequestContext } from '../../src/apiserver/request/handler.ts'
import { RequestHeaders, type ResponseHeaders } from '../../src/http/server/exchange.ts'
import { jwtKeyId } from '../../src/identity/jwk.ts'
import { type FetchedResponse, KubeClient } from '../../src/kube/client/client.ts'
import { loadKubeconfig } from '../../src/kube/client/kubeconfig.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { findKind } from '../../src/kube/schema/schema.ts'
import { isNotFound } from '../../src/kube/status/predicates.ts'
import { ApiError } from '../../src/kube/status/status.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

type Fields = Record<string, unknown>

const inDefault = '/api/v1/namespaces/default'
const reviewPath = '/apis/authentication.k8s.io/v1/tokenreviews'
const apiAudiences = [DEFAULT_ISSUER]

describeReal('ServiceAccount tokens', () => {
  let plane: ControlPlane
  let client: KubeClient
  let key: KeyObject
  let issuer: TokenIssuer
  let tokens: TokenAuthenticator
  const uids = new Map<string, string>()

  const find: FindObject = async (resource, namespace, name) => {
    const path = resource === 'nodes' ? `/api/v1/nodes/${name}` : `/api/v1/namespaces/${namespace}/${resource}/${name}`
    return await client.exchange<KubeObject>({ method: 'GET', path }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
  }

  const create = async (path: string, object: KubeObject): Promise<void> => {
    const { metadata } = await client.exchange<KubeObject>({ method: 'POST', path }, object)
    uids.set(metadata?.name ?? '', metadata?.uid ?? '')
  }

  beforeAll(async () => {
    plane = await startControlPlane()
    client = new KubeClient(await loadKubeconfig({ file: plane.kubeconfigFile }), { maxConnections: 4 })
    key = createPrivateKey(await readFile(join(plane.directory, 'sa.key')))
    issuer = new TokenIssuer({ key })
    const staticTokens = new StaticTokens(await readFile(join(plane.directory, 'tokens.csv'), 'utf8'), 'file')
    tokens = new UnionTokenAuthenticator([
      new ApiTokenAuthenticator((token) => staticTokens.userOf(token), apiAudiences),
      legacyServiceAccountTokens({ keys: [key], apiAudiences, find }),
      serviceAccountTokens({ keys: [key], issuer: issuer.issuer, apiAudiences, find, clock: systemClock }),
    ])
    for (const name of ['worker', 'other']) await create(`${inDefault}/serviceaccounts`, { metadata: { name } })
    await create('/api/v1/nodes', { metadata: { name: 'node-1' } })
    await create(`${inDefault}/secrets`, { metadata: { name: 'vault' } })
    await create(`${inDefault}/pods`, pod('placed', 'worker', 'node-1'))
    await create(`${inDefault}/pods`, pod('stray', 'worker', 'no-such-node'))
    await create(`${inDefault}/pods`, pod('waiting', 'worker'))
    await create(`${inDefault}/pods`, pod('foreign', 'other'))
  })

  afterAll(async () => {
    await client?.close()
    await plane?.stop()
  })

  const askReal = async (path: string, object: KubeObject): Promise<unknown> =>
    await client.exchange<KubeObject>({ method: 'POST', path }, object).catch(statusOf)

  const requestBoth = async (request: KubeObject, name = 'worker') => {
    const account = { namespace: 'default', name }
    const validate = (): Promise<void> => Promise.resolve()
    const read = conformed(request, 'TokenRequest')
    const ours = await answerTokenRequest(read, account, { issuer, find, clock: systemClock, validate })
      .then((answer) => conformed(answer, 'TokenRequest'))
      .catch(statusOf)
    return { ours, real: await askReal(`${inDefault}/serviceaccounts/${name}/token`, request) }
  }

  const reviewBoth = async (spec: object, metadata = {}) => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata, spec }
    const ours = await reviewToken(conformed(review, 'TokenReview'), tokens, apiAudiences)
      .then((answer) => conformed(answer, 'TokenReview'))
      .catch(statusOf)
    return { ours: withoutManagers(ours), real: withoutManagers(await askReal(reviewPath, review)) }
  }

  /** A token like a good one of `worker`, with some claims and header fields replaced; undefined takes one away. */
  const mint = async (claims: object = {}, header: object = {}, signer: KeyObject = key): Promise<string> => {
    const now = Math.floor(systemClock.nowMs() / 1000)
    const times = { exp: now + 3600, iat: now, nbf: now }
    const kubernetes = { namespace: 'default', serviceaccount: { name: 'worker', uid: uids.get('worker') } }
    const good = { iss: DEFAULT_ISSUER, aud: apiAudiences, ...times, jti: randomUUID(), 'kubernetes.io': kubernetes }
    const payload = Buffer.from(JSON.stringify({ ...good, ...claims }))
    const fields = JSON.parse(JSON.stringify({ alg: 'RS256', kid: jwtKeyId(key), ...header })) as { alg: string }
    return await new CompactSign(payload).setProtectedHeader(fields).sign(signer)
  }

  const bindTo = (bound: Fields): object => ({
    'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'worker', uid: uids.get('worker') }, ...bound },
  })

  const reference = (name: string): object => ({ name, uid: uids.get(name) })

  describe('TokenRequest', () => {
    it.each<[string, Fields]>([
      ['nothing asked for', {}],
      ['shortest life', { expirationSeconds: 600 }],
      ['longest life', { expirationSeconds: 2 ** 32 }],
      ['audiences, one of them twice', { audiences: ['x', 'x', 'y'] }],
      ['empty audiences', { audiences: [] }],
      ['life that would be extended, bound to nothing', { expirationSeconds: 3607 }],
      ['extended life', { expirationSeconds: 3607, boundObjectRef: bound('Pod', 'placed') }],
      ['life that would be extended, another audience', extendable([DEFAULT_ISSUER, 'x'])],
      [
        'life that would be extended, bound to a Secret',
        { expirationSeconds: 3607, boundObjectRef: bound('Secret', 'vault') },
      ],
      ['Pod on a Node', { boundObjectRef: bound('Pod', 'placed') }],
      ['Pod on an unknown Node', { boundObjectRef: bound('Pod', 'stray') }],
      ['Pod on no Node', { boundObjectRef: bound('Pod', 'waiting') }],
      ['Pod by another version', { boundObjectRef: bound('Pod', 'placed', { apiVersion: 'v2' }) }],
      ['Pod by no version', { boundObjectRef: bound('Pod', 'placed', { apiVersion: '' }) }],
      ['Pod by an impossible version', { boundObjectRef: bound('Pod', 'placed', { apiVersion: 'a/b/c' }) }],
      ['Secret', { boundObjectRef: bound('Secret', 'vault') }],
      ['Node', { boundObjectRef: bound('Node', 'node-1') }],
    ])('gives the same token: %s', async (_case, spec) => {
      const { ours, real } = await requestBoth(tokenRequest(spec))
      expect(comparable(real)).toHaveProperty('claims')
      expect(comparable(ours)).toEqual(comparable(real))
      expect(Object.keys(claimsOf(ours))).toEqual(Object.keys(claimsOf(real)))
    })

    it('keeps the metadata that it was given', async () => {
      const metadata = { name: 'worker', namespace: 'default', labels: { a: 'b' }, annotations: { c: 'd' } }
      const more = { uid: uids.get('worker') ?? '', creationTimestamp: '2001-01-01T00:00:00Z', finalizers: ['a/b'] }
      const { ours, real } = await requestBoth({ ...tokenRequest({}), metadata: { ...metadata, ...more } })
      expect(comparable(ours)).toEqual(comparable(real))
    })

    it.each<[string, Fields]>([
      ['no time at all', { expirationSeconds: 0 }],
      ['too short', { expirationSeconds: 599 }],
      ['negative', { expirationSeconds: -1 }],
      ['too long', { expirationSeconds: 2 ** 32 + 1 }],
      ['no such Pod', { boundObjectRef: bound('Pod', 'nobody') }],
      ['Pod of another ServiceAccount', { boundObjectRef: bound('Pod', 'foreign') }],
      ['another Pod of that name', { boundObjectRef: bound('Pod', 'placed', { uid: 'old' }) }],
      ['Pod without a name', { boundObjectRef: bound('Pod', '') }],
      ['Pod with a path for a name', { boundObjectRef: bound('Pod', 'a/b%') }],
      ['Pod with dots for a name', { boundObjectRef: bound('Pod', '..') }],
      ['Node without a name', { boundObjectRef: bound('Node', '') }],
      ['Pod of another group', { boundObjectRef: bound('Pod', 'placed', { apiVersion: 'apps/v1' }) }],
      ['empty reference', { boundObjectRef: {} }],
      ['kind that cannot be bound to', { boundObjectRef: bound('ConfigMap', 'x') }],
      ['no such Secret', { boundObjectRef: bound('Secret', 'nobody') }],
      ['another Secret of that name', { boundObjectRef: bound('Secret', 'vault', { uid: 'old' }) }],
      ['no such Node', { boundObjectRef: bound('Node', 'nobody') }],
      ['another Node of that name', { boundObjectRef: bound('Node', 'node-1', { uid: 'old' }) }],
    ])('is refused in the same words: %s', async (_case, spec) => {
      const { ours, real } = await requestBoth(tokenRequest(spec))
      expect(real).toHaveProperty('status', 'Failure')
      expect(ours).toEqual(real)
    })

    it.each([
      ['name', { name: 'somebody' }],
      ['namespace', { namespace: 'elsewhere' }],
      ['uid', { uid: 'old' }],
    ])('is refused in the same words: another %s in the metadata', async (_case, metadata) => {
      const { ours, real } = await requestBoth({ ...tokenRequest({}), metadata })
      expect(real).toHaveProperty('status', 'Failure')
      expect(ours).toEqual(real)
    })

    it('is refused in the same words: no such ServiceAccount', async () => {
      const { ours, real } = await requestBoth(tokenRequest({ expirationSeconds: 1 }), 'nobody')
      expect(real).toHaveProperty('code', 404)
      expect(ours).toEqual(real)
    })
  })

  describe('TokenReview', () => {
    it('believes the tokens of the other side', async () => {
      const { ours, real } = await requestBoth(tokenRequest({ boundObjectRef: bound('Pod', 'placed') }))
      for (const answer of [ours, real]) {
        const review = await reviewBoth({ token: tokenOf(answer) })
        expect(review.real).toHaveProperty('status.authenticated', true)
        expect(review.ours).toEqual(review.real)
      }
    })

    // The leeway is a minute. Times count from when they are asked for: it takes a while until the servers are up.
    it.each<[string, () => Fields, Fields?]>([
      ['good', () => ({})],
      ['good, asked by metadata', () => ({}), { name: 'x', namespace: 'y', labels: { a: 'b' } }],
      ['expired within the leeway', () => ({ exp: inSeconds(-20) })],
      ['expired', () => ({ exp: inSeconds(-100) })],
      ['early within the leeway', () => ({ nbf: inSeconds(50) })],
      ['early', () => ({ nbf: inSeconds(200) })],
      ['from the future', () => ({ iat: inSeconds(200) })],
      [
        'early, expired and from the future',
        () => ({ nbf: inSeconds(200), exp: inSeconds(-100), iat: inSeconds(200) }),
      ],
      ['without times', () => ({ exp: undefined, nbf: undefined, iat: undefined })],
      ['with a fraction', () => ({ exp: inSeconds(1_000) + 0.5 })],
      ['without an id', () => ({ jti: undefined })],
      ['one audience without a list', () => ({ aud: DEFAULT_ISSUER })],
      ['no audience', () => ({ aud: undefined })],
      ['empty audience', () => ({ aud: [] })],
      ['several audiences', () => ({ aud: ['x', DEFAULT_ISSUER] })],
      ['other audiences', () => ({ aud: ['x', 'y "z"'] })],
      ['other issuer', () => ({ iss: 'https://elsewhere' })],
      ['without a subject', () => ({ sub: undefined })],
      ['without Kubernetes claims', () => ({ 'kubernetes.io': undefined })],
    ])('answers alike for a token that is %s', async (_case, claims, metadata) => {
      const { ours, real } = await reviewBoth({ token: await mint(claims()) }, metadata)
      expect(ours).toEqual(real)
    })

    it.each<[string, () => Fields]>([
      ['ServiceAccount that has gone', () => ({ serviceaccount: { name: 'nobody', uid: 'x' } })],
      ['ServiceAccount made again', () => ({ serviceaccount: { name: 'worker', uid: 'x' } })],
      ['namespace that has gone', () => ({ namespace: 'nowhere' })],
      ['Pod that has gone', () => ({ pod: { name: 'nobody', uid: 'x' } })],
      ['Pod made again', () => ({ pod: { name: 'placed', uid: 'x' } })],
      ['Pod', () => ({ pod: reference('placed') })],
      ['Pod on a Node without a uid', () => ({ pod: reference('placed'), node: { name: 'whatever' } })],
      ['Secret that has gone', () => ({ secret: { name: 'nobody', uid: 'x' } })],
      ['Secret made again', () => ({ secret: { name: 'vault', uid: 'x' } })],
      ['Secret', () => ({ secret: reference('vault') })],
      ['Node that has gone', () => ({ node: { name: 'nobody', uid: 'x' } })],
      ['Node made again', () => ({ node: { name: 'node-1', uid: 'x' } })],
      ['Node', () => ({ node: reference('node-1') })],
      ['date to warn after', () => ({ warnafter: inSeconds(-10) })],
    ])('answers alike for a token with a %s', async (_case, claims) => {
      const { ours, real } = await reviewBoth({ token: await mint(bindTo(claims())) })
      expect(ours).toEqual(real)
    })

    it.each<[string, Fields, KeyObject?]>([
      ['without a key id', { kid: undefined }],
      ['with a type', { typ: 'JWT' }],
      ['of an unknown key', { kid: 'unknown' }],
      ['of another key', {}, generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
      ['of a key of another kind', { alg: 'ES256' }, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
    ])('answers alike for a token %s', async (_case, header, signer) => {
      const { ours, real } = await reviewBoth({ token: await mint({}, header, signer) })
      expect(ours).toEqual(real)
    })

    it('answers alike for what is no token', async () => {
      const good = await mint()
      const [header = '', payload = '', signature = ''] = good.split('.')
      const none = Buffer.from('{"alg":"none"}').toString('base64url')
      const texts = ['', 'garbage', '..', `${none}.${payload}.`, `${header}.${payload}.`, `${good}.x`, `x.${payload}.x`]
      const spoilt = [`${header}.${payload}=.${signature}`, `${header}.${payload}.!`, `${good.slice(0, -8)}AAAAAAAA`]
      for (const token of [...texts, ...spoilt]) {
        const { ours, real } = await reviewBoth({ token })
        expect(ours, token).toEqual(real)
      }
    })

    it('is stricter about algorithms and spaces', async () => {
      const good = await mint()
      const padded = [` ${good}`, `${good} x`]
      for (const token of [await mint({}, { alg: 'RS512' }), await mint({}, { alg: 'PS256' }), ...padded]) {
        const { ours, real } = await reviewBoth({ token })
        expect(real).toHaveProperty('status.authenticated', true)
        expect(ours).toHaveProperty('status.error')
        expect(ours).not.toHaveProperty('status.authenticated')
      }
    })

    it.each([[['x', DEFAULT_ISSUER, 'y']], [['x', 'y']], [[]], [[DEFAULT_ISSUER, DEFAULT_ISSUER]]])(
      'answers alike when asked for the audiences %j',
      async (audiences) => {
        for (const token of [await mint(), await mint({ aud: ['y', 'x'] }), plane.adminToken]) {
          const { ours, real } = await reviewBoth({ token, audiences })
          expect(ours).toEqual(real)
        }
      },
    )

    it('answers alike for the tokens that stand in Secrets', async () => {
      const prefix = 'kubernetes.io/serviceaccount'
      const claims = {
        iss: LEGACY_ISSUER,
        sub: 'system:serviceaccount:default:worker',
        [`${prefix}/namespace`]: 'default',
        [`${prefix}/secret.name`]: 'kept',
        [`${prefix}/service-account.name`]: 'worker',
        [`${prefix}/service-account.uid`]: uids.get('worker'),
      }
      const none = { aud: undefined, exp: undefined, nbf: undefined, iat: undefined, jti: undefined }
      const token = await mint({ ...none, ...claims, 'kubernetes.io': undefined })
      const annotations = { 'kubernetes.io/service-account.name': 'worker' }
      const data = { token: Buffer.from(token).toString('base64') }
      const type = 'kubernetes.io/service-account-token'
      await create(`${inDefault}/secrets`, { metadata: { name: 'kept', annotations }, type, data })
      const { ours, real } = await reviewBoth({ token })
      expect(real).toHaveProperty('status.authenticated', true)
      expect(ours).toEqual(real)
      const changes = [
        { [`${prefix}/secret.name`]: 'gone' },
        { [`${prefix}/secret.name`]: 'vault' },
        { [`${prefix}/secret.name`]: undefined },
        { [`${prefix}/service-account.uid`]: undefined },
        { sub: 'system:serviceaccount:default:other' },
        { sub: undefined },
        { aud: ['x'] },
      ]
      for (const change of changes) {
        const review = await reviewBoth({ token: await mint({ ...none, ...claims, ...change }) })
        expect(review.real).toHaveProperty('status.error')
        expect(review.ours).toEqual(review.real)
      }
    })
  })

  describe('issuer discovery', () => {
    const serveOurs = async (path: string, method: string, accept: string): Promise<unknown> => {
      const serverAddress = (): string => new URL(plane.server).host
      const handle = openIdHandler({ issuer: DEFAULT_ISSUER, keys: [key], serverAddress })
      return await serve(handle, path, method, accept).catch(statusOf)
    }

    it.each([
      [OPENID_CONFIGURATION_PATH, 'GET', ''],
      [`${OPENID_CONFIGURATION_PATH}/`, 'GET', 'application/json'],
      [OPENID_CONFIGURATION_PATH, 'GET', 'text/html'],
      [JWKS_PATH, 'GET', ''],
      [JWKS_PATH, 'GET', 'application/json, */*'],
      [JWKS_PATH, 'GET', 'application/json'],
      [JWKS_PATH, 'POST', ''],
    ])('%s is served alike to %s with Accept "%s"', async (path, method, accept) => {
      const headers: [string, string][] = [['accept', accept === '' ? '*/*' : accept]]
      const real = await client.fetch({ method, path, headers }).then(documentOf).catch(statusOf)
      expect(await serveOurs(path, method, accept)).toEqual(real)
    })
  })
})

function pod(name: string, serviceAccountName: string, nodeName?: string): KubeObject {
  const spec = { serviceAccountName, containers: [{ name: 'c', image: 'i' }] }
  return { metadata: { name }, spec: nodeName === undefined ? spec : { ...spec, nodeName } }
}

function tokenRequest(spec: object): KubeObject {
  return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }
}

function bound(kind: string, name: string, more: object = {}): object {
  return { kind, apiVersion: 'v1', name, ...more }
}

function extendable(audiences: readonly string[]): Fields {
  return { expirationSeconds: 3607, audiences, boundObjectRef: bound('Pod', 'placed') }
}

function inSeconds(seconds: number): number {
  return Math.floor(systemClock.nowMs() / 1000) + seconds
}

function statusOf(error: unknown): object {
  if (error instanceof ApiError) return error.status
  throw error
}

function conformed(answer: KubeObject, kind: string): KubeObject {
  const apiVersion = 'authentication.k8s.io/v1'
  const message = findKind(apiVersion, kind)?.message as ExpectedKind['message']
  return inOrder(answer, { apiVersion, kind, message })
}

/** Field managers are not kept yet. */
function withoutManagers(answer: unknown): unknown {
  const { metadata, ...rest } = answer as KubeObject
  const { managedFields: _managers, ...others } = metadata ?? {}
  return { metadata: others, ...rest }
}

function tokenOf(answer: unknown): string {
  return (answer as { status: { token: string } }).status.token
}

function claimsOf(answer: unknown): Fields {
  return JSON.parse(Buffer.from(tokenOf(answer).split('.')[1] ?? '', 'base64url').toString()) as Fields
}

/** A granted request with its token opened, and all times counted from the moment of issue. */
function comparable(answer: unknown): object {
  const { metadata, status, ...rest } = withoutManagers(answer) as KubeObject & { status: Record<string, string> }
  const { 'kubernetes.io': objects, ...claims } = claimsOf(answer)
  const since = (value: unknown): number => Number(value) - Number(claims['iat'])
  const { warnafter, ...kubernetes } = objects as Fields
  const createdMs = Date.parse(metadata?.creationTimestamp ?? '')
  return {
    ...rest,
    // The clock is read twice, maybe on both sides of a full second.
    metadata: { ...metadata, creationTimestamp: Math.abs(createdMs - Number(claims['iat']) * 1000) <= 1000 },
    lifeMs: nearSecond(Date.parse(status['expirationTimestamp'] ?? '') - createdMs, rest),
    header: JSON.parse(Buffer.from(tokenOf(answer).split('.')[0] ?? '', 'base64url').toString()) as Fields,
    claims: {
      ...claims,
      iat: 0,
      exp: since(claims['exp']),
      nbf: since(claims['nbf']),
      jti: String(claims['jti']).length,
    },
    kubernetes,
    warnAfter: warnafter === undefined ? undefined : since(warnafter),
  }
}

/** That it is as long as was asked for; its end and its beginning are rounded, too, and belong to two readings of the clock. */
function nearSecond(lifeMs: number, { spec }: KubeObject): number {
  const wantedMs = Number((spec as Fields)['expirationSeconds']) * 1000
  return Math.abs(lifeMs - wantedMs) <= 1000 ? wantedMs : lifeMs
}

function documentOf({ status, headers, body }: FetchedResponse): Served {
  const { 'content-type': type = '', 'cache-control': caching = '' } = headers
  return { status, headers: { 'content-type': type, 'cache-control': caching }, body: body.toString() }
}

interface Served {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
}

async function serve(
  handle: ReturnType<typeof openIdHandler>,
  path: string,
  method: string,
  accept: string,
): Promise<Served | undefined> {
  let served: Served | undefined
  const exchange = {
    method,
    headers: new RequestHeaders(accept === '' ? [] : [['accept', accept]]),
    respond: (status: number, headers: ResponseHeaders, body: Buffer) => {
      served = { status, headers, body: body.toString() }
    },
  }
  const info = { kind: 'non-resource', path, verb: method.toLowerCase() }
  const context = { exchange, info, responseHeaders: {}, warnings: new Set() }
  expect(await handle(context as unknown as RequestContext)).toBe(true)
  return served
}
