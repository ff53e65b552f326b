/**
 * The words of the Kubernetes wire against a real kube-apiserver: how it reads paths, media types and selectors, and
 * what it says when it refuses. Every case asks both, and the answers must be the same.
 */
import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { negotiateDiscovery, negotiateErrorOutput, negotiateOutput } from '../../src/kube/negotiation.ts'
import { negotiateBody, negotiatePatch } from '../../src/kube/negotiation-body.ts'
import {
  BUILT_IN_COLLECTION,
  BUILT_IN_OBJECT,
  CUSTOM_RESOURCE,
  type RouteOffer,
} from '../../src/kube/negotiation-offers.ts'
import { MEDIA_TYPES, responseContentType } from '../../src/kube/representation.ts'
import { parseRequestInfo } from '../../src/kube/request-info.ts'
import { checkSelectableFields, matchesFields, parseFieldSelector } from '../../src/kube/selectors/field.ts'
import { matchesLabels, parseLabelSelector } from '../../src/kube/selectors/label.ts'
import { accessDenied } from '../../src/kube/status/access-denied.ts'
import { tooLargeResourceVersion } from '../../src/kube/status/availability-errors.ts'
import { requiredField } from '../../src/kube/status/field-error.ts'
import { fromHttp } from '../../src/kube/status/from-http.ts'
import { genericServerResponse } from '../../src/kube/status/generic-response.ts'
import { isTooLargeResourceVersion } from '../../src/kube/status/predicates.ts'
import { unauthorized } from '../../src/kube/status/request-errors.ts'
import { alreadyExists, conflict, invalid, notFound, OBJECT_MODIFIED } from '../../src/kube/status/resource-errors.ts'
import { ApiError, type Status } from '../../src/kube/status/status.ts'
import { toHttp } from '../../src/kube/status/to-http.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

interface Answer {
  readonly code: number
  readonly headers: Record<string, string>
  readonly body: Buffer
}

interface Question {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

const configMaps = '/api/v1/namespaces/default/configmaps'
const widgets = '/apis/words.example/v1/namespaces/default/widgets'
const json = { 'content-type': 'application/json' }
const configMapResource = { group: '', resource: 'configmaps' }

const labelSets: Record<string, Record<string, string>> = {
  none: {},
  front: { app: 'shop', tier: 'front', weight: '10' },
  back: { app: 'shop', tier: 'back', weight: '9' },
  other: { app: 'mail', weight: 'heavy' },
  blank: { app: '' },
}

describeReal('words', () => {
  let plane: ControlPlane
  let ca: Buffer

  beforeAll(async () => {
    plane = await startControlPlane()
    ca = await readFile(plane.caFile)
    await ask('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      method: 'POST',
      headers: json,
      body: widgetDefinition,
    })
    await vi.waitFor(async () => expect((await ask(widgets)).code).toBe(200), { timeout: 100_000, interval: 200 })
    for (const [name, labels] of Object.entries(labelSets)) {
      const created = await ask(configMaps, { method: 'POST', headers: json, body: configMap(name, labels) })
      expect(created.code).toBe(201)
    }
  })

  afterAll(async () => {
    await plane?.stop()
  })

  /** The path goes out exactly as it is written. */
  function ask(path: string, { method = 'GET', headers = {}, body }: Question = {}): Promise<Answer> {
    const { hostname, port } = new URL(plane.server)
    const payload = body === undefined ? '' : JSON.stringify(body)
    const fixed = { authorization: `Bearer ${plane.adminToken}`, 'content-length': String(Buffer.byteLength(payload)) }
    return new Promise((resolve, reject) => {
      const call = request({ hostname, port, ca, path, method, headers: { ...fixed, ...headers } }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const received = response.headers as Record<string, string>
          resolve({ code: response.statusCode ?? 0, headers: received, body: Buffer.concat(chunks) })
        })
      })
      call.on('error', reject)
      call.end(payload)
    })
  }

  async function statusOf(path: string, question?: Question): Promise<Status> {
    const answer = await ask(path, question)
    return JSON.parse(answer.body.toString()) as Status
  }

  describe('request info', () => {
    test.each([
      ['GET', '/api/v1/pods'],
      ['HEAD', '/api/v1/pods/a'],
      ['OPTIONS', '/api/v1/pods'],
      ['POST', '/apis/apps/v1/namespaces/ns/deployments'],
      ['PUT', '/apis/apps/v1/namespaces/ns/deployments/d/scale'],
      ['PATCH', '/api/v1/namespaces/ns/status'],
      ['PUT', '/api/v1/namespaces/ns/finalize'],
      ['GET', '/api/v1/namespaces/ns'],
      ['GET', '/api/v1/namespaces/ns/foo'],
      ['GET', '/api/v1/namespaces'],
      ['DELETE', '/api/v1/namespaces/ns/pods'],
      ['DELETE', '/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dfoo'],
      ['DELETE', '/api/v1/namespaces/ns/pods/a'],
      ['GET', '/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dfoo'],
      ['GET', '/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dfoo&limit=zz'],
      ['GET', '/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dfoo&limit='],
      ['GET', '/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dfoo&labelSelector=-'],
      ['GET', '/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Da%2Fb'],
      ['GET', '/api/v1/namespaces/ns/pods?watch&fieldSelector=metadata.name==foo,status.phase!=x'],
      ['GET', '/api/v1/pods?watch=%zz'],
      ['GET', '/api/v1/pods?watch=0&watch=1'],
      ['GET', '/api/v1/pods?a;watch=1'],
      ['GET', '/api/v1/pods?&watch=true'],
      ['GET', '/api/v1/pods/a?watch=true'],
      ['GET', '/api/v1/watch/namespaces/ns/pods/a'],
      ['POST', '/api/v1/watch/pods'],
      ['GET', '/api/v1/proxy/namespaces/ns/pods/a/b'],
      ['GET', '/api/v1/namespaces/ns/pods/a/proxy/b/c'],
      ['GET', '//api/v1/pods'],
      ['GET', '/api/v1//pods'],
      ['GET', '/api/v1/pods/'],
      ['GET', '/api/v1/namespaces//pods'],
      ['GET', '/api/v1/namespaces/a%2Fb/pods'],
      ['GET', '/api/v1/pods/..'],
      ['GET', '/%61pi/v1/pods/a%20%22b%22%0A'],
      ['GET', '/api/v1/pods/%C3%BC+%3Cb%3E'],
      ['GET', '/metrics'],
      ['POST', '/apis/apps'],
      ['GET', '/foo%20bar/'],
    ])('%s %s is forbidden in the same words', async (method, path) => {
      const info = parseRequestInfo({ method, path })
      const expected = accessDenied('bob <b>', info).status
      const question = { method, headers: { 'impersonate-user': 'bob <b>' } }
      if (method === 'HEAD') expect((await ask(path, question)).code).toBe(expected.code)
      else expect(await statusOf(path, question)).toEqual(expected)
    })

    test.each(['/api/v1/watch', '/api/v1/proxy', '/api/v1/pods/%zz'])(
      '%s is refused with the same code',
      async (path) => {
        const failure = catchApiError(() => parseRequestInfo({ method: 'GET', path }))
        expect((await ask(path)).code).toBe(failure.code)
      },
    )
  })

  describe('accept', () => {
    const protobuf = MEDIA_TYPES.protobuf
    const headers = [
      undefined,
      '*/*',
      '*',
      'application/*',
      'application/json',
      'application/yaml',
      protobuf,
      `${protobuf},application/json`,
      `${protobuf};q=0.1,application/yaml;q=0.2`,
      '*/*,application/yaml;q=0.5',
      'application/yaml;q=0.5,*/*',
      'application/json;q=0',
      'APPLICATION/JSON',
      'application',
      'application/json/',
      'application/xml',
      'text/plain, */*;q=0.1',
      'application/cbor',
      'application/json;stream=watch',
      'application/json;stream=foo',
      'application/yaml;stream=watch',
      'application/json;sv=v1',
      'application/json;sv=v7',
      'application/json;foo=bar',
      'application/json;as=Table;g=meta.k8s.io;v=v1',
      'application/json;as=Table;g=meta.k8s.io;v=v1beta1',
      'application/json;as=Table;g=meta.k8s.io;v=v2',
      'application/json;as=Table',
      'application/json;v=v1, application/yaml',
      'application/json;as=Bogus;g=meta.k8s.io;v=v1',
      'application/json;as=Bogus;g=meta.k8s.io;v=v1,application/yaml',
      '*/*;as=Table;g=meta.k8s.io;v=v1',
      `${protobuf};as=Table;g=meta.k8s.io;v=v1`,
      `${protobuf};as=Table;g=meta.k8s.io;v=v1,application/json`,
      `${protobuf};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`,
      'application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2,application/json',
      'application/json,application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2',
      'application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2beta1',
      'application/yaml;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2;profile=nopeer',
    ]
    const places: [string, string, boolean, RouteOffer | 'discovery'][] = [
      ['a built-in collection', configMaps, false, BUILT_IN_COLLECTION],
      ['a built-in watch', `${configMaps}?watch=1&timeoutSeconds=1&resourceVersion=0`, true, BUILT_IN_COLLECTION],
      ['a custom collection', widgets, false, CUSTOM_RESOURCE],
      ['discovery', '/apis', false, 'discovery'],
    ]

    describe.each(places)('%s', (_place, path, stream, endpoint) => {
      test.concurrent.each(headers)('%s', async (accept) => {
        const answer = await ask(path, accept === undefined ? {} : { headers: { accept } })
        const wanted = { accept, stream }
        let contentType: string
        try {
          const output = endpoint === 'discovery' ? negotiateDiscovery(wanted) : negotiateOutput(wanted, endpoint)
          contentType = responseContentType(output.representation, { stream })
        } catch (error) {
          expectSameRefusal(answer, error, accept)
          return
        }
        expect([answer.code, answer.headers['content-type']]).toEqual([200, contentType])
      })
    })

    test.each(['application/xml', 'application/*', 'application/json;as=Table'])('one object, %s', async (accept) => {
      const answer = await ask(`${configMaps}/front`, { headers: { accept } })
      const failure = catchApiError(() => negotiateOutput({ accept, stream: false }, BUILT_IN_OBJECT))
      expectSameRefusal(answer, failure, accept)
    })

    test.each(['', 'Metadata', 'Object', 'None', 'Foo'])('includeObject=%s', async (includeObject) => {
      const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1'
      const answer = await ask(`${configMaps}?includeObject=${includeObject}`, { headers: { accept } })
      try {
        negotiateOutput({ accept, includeObject, stream: false }, BUILT_IN_COLLECTION)
        expect(answer.code).toBe(200)
      } catch (error) {
        expectSameRefusal(answer, error, accept)
      }
    })

    test.each<[string, string, boolean]>([
      ['application/json', '', false],
      ['application/json;pretty=1', '', true],
      ['application/json', 'true', true],
      ['application/json', 'nonsense', false],
    ])('%s with pretty=%s is indented: %s', async (accept, pretty, indented) => {
      const { body } = await ask(`${configMaps}?pretty=${pretty}`, { headers: { accept } })
      expect(body.toString().startsWith('{\n')).toBe(indented)
      expect(negotiateOutput({ accept, pretty, stream: false }, BUILT_IN_COLLECTION).pretty).toBe(indented)
    })
  })

  describe('content type', () => {
    test.each([
      undefined,
      'application/json',
      'Application/JSON; charset=utf-8',
      'application/json;',
      'application/json; charset',
      'application/json; a=1; a=2',
      'application/json,application/yaml',
      'json',
      'text/xml',
      'application/cbor',
    ])('of a new object: %s', async (contentType) => {
      const headers = contentType === undefined ? {} : { 'content-type': contentType }
      for (const path of [configMaps, widgets]) {
        const status = await statusOf(path, { method: 'POST', headers, body: {} })
        const failure = tryApiError(() => negotiateBody(contentType))
        if (failure === undefined) expect(status.code).not.toBe(415)
        else expect(status).toEqual(failure.status)
      }
    })

    test.each([
      undefined,
      'application/json',
      'application/json-patch+json',
      'application/merge-patch+json; charset=utf-8',
      'application/merge-patch+json ; charset=utf-8',
      'Application/Merge-Patch+JSON',
      'application/strategic-merge-patch+json',
      'application/apply-patch+yaml',
      'application/apply-patch+cbor',
    ])('of a patch: %s', async (contentType) => {
      const headers = contentType === undefined ? {} : { 'content-type': contentType }
      for (const [path, resource] of [
        [configMaps, 'built-in'],
        [widgets, 'custom'],
      ] as const) {
        const status = await statusOf(`${path}/missing`, { method: 'PATCH', headers, body: {} })
        const failure = tryApiError(() => negotiatePatch(contentType, resource))
        if (failure === undefined) expect(status.code).not.toBe(415)
        else expect(status).toEqual(failure.status)
      }
    })
  })

  describe('selectors', () => {
    async function listed(parameter: string, selector: string): Promise<string[] | Status> {
      const answer = await ask(`${configMaps}?${parameter}=${encodeURIComponent(selector)}`)
      const parsed = JSON.parse(answer.body.toString()) as Status | { items: { metadata: { name: string } }[] }
      if (!('items' in parsed)) return parsed
      return parsed.items.map(({ metadata }) => metadata.name).filter((name) => name in labelSets)
    }

    test.each([
      '',
      'app',
      '!app',
      'app=shop',
      'app==shop,tier!=front',
      'app=',
      'tier!=front',
      'app in (shop,mail)',
      'app notin (shop, mail)',
      'app in ()',
      'app in (,mail)',
      'weight>9',
      'weight<10',
      'weight>x',
      'app shop',
      'app=shop tier',
      '!app=shop',
      'app,',
      ',app',
      'app in (shop',
      'app in shop',
      'app===shop',
      '-app',
      'a/b/c',
      '/app',
      'EXAMPLE.com/app',
      'app=-x',
      'app in (-x,x-)',
      `app=${'x'.repeat(64)}`,
      'x'.repeat(64),
      'äpp',
      'app="shop"',
    ])('label selector %j', async (selector) => {
      const answer = await listed('labelSelector', selector)
      let names: string[]
      try {
        const parsed = parseLabelSelector(selector)
        names = Object.keys(labelSets).filter((name) => matchesLabels(parsed, labelSets[name]))
      } catch (error) {
        expect(answer).toEqual((error as ApiError).status)
        return
      }
      expect(answer).toEqual(names.toSorted())
    })

    test.each([
      '',
      ',',
      '=',
      'metadata.name=front',
      'metadata.name!=front,metadata.name!=back',
      'metadata.name==front,metadata.namespace=default',
      'metadata.namespace!=default',
      'metadata.name',
      'metadata.name=a=b',
      String.raw`metadata.name=a\=b`,
      String.raw`metadata.name=a\b`,
      'metadata.name=a\\',
      'data.key=x',
      'näme=x',
    ])('field selector %j', async (selector) => {
      const answer = await listed('fieldSelector', selector)
      let names: string[]
      try {
        const parsed = parseFieldSelector(selector)
        checkSelectableFields(parsed, [])
        names = Object.keys(labelSets).filter((name) => matchesFields(parsed, fieldsOf(name)))
      } catch (error) {
        expect(answer).toEqual((error as ApiError).status)
        return
      }
      expect(answer).toEqual(names.toSorted())
    })

    test('a resource with fields of its own has words of its own', async () => {
      const failure = catchApiError(() => checkSelectableFields(parseFieldSelector('abc=d'), ['status.phase']))
      expect(await statusOf('/api/v1/pods?fieldSelector=abc%3Dd')).toEqual(failure.status)
    })
  })

  describe('errors', () => {
    test('not found', async () => {
      expect(await statusOf(`${configMaps}/missing`)).toEqual(notFound(configMapResource, 'missing').status)
      const widget = { group: 'words.example', resource: 'widgets' }
      expect(await statusOf(`${widgets}/missing`)).toEqual(notFound(widget, 'missing').status)
    })

    test('already exists', async () => {
      const question = { method: 'POST', headers: json, body: configMap('front', {}) }
      expect(await statusOf(configMaps, question)).toEqual(alreadyExists(configMapResource, 'front').status)
    })

    test('conflict', async () => {
      const stale = configMap('front', {}, { resourceVersion: '1' })
      const question = { method: 'PUT', headers: json, body: stale }
      expect(await statusOf(`${configMaps}/front`, question)).toEqual(
        conflict(configMapResource, 'front', OBJECT_MODIFIED).status,
      )
    })

    test('invalid', async () => {
      const question = { method: 'POST', headers: json, body: { apiVersion: 'v1', kind: 'ConfigMap' } }
      const error = requiredField('metadata.name', 'name or generateName is required')
      expect(await statusOf(configMaps, question)).toEqual(
        invalid({ group: '', kind: 'ConfigMap' }, '', [error]).status,
      )
    })

    test('unauthorized', async () => {
      const question = { headers: { authorization: 'Bearer wrong' } }
      expect(await statusOf(configMaps, question)).toEqual(unauthorized().status)
    })

    test.each<[number, string, string]>([
      [405, 'PUT', configMaps],
      [404, 'GET', '/api/v1/namespaces/default/nosuch'],
    ])('a router that answers %i to %s %s', async (code, method, path) => {
      const expected = genericServerResponse({ code, method: '', serverMessage: '', unexpected: false })
      expect(await statusOf(path, { method, headers: json, body: {} })).toEqual(expected.status)
    })

    test('a version from the future', async () => {
      const answer = await ask(`${configMaps}?resourceVersion=999999999`)
      const received = fromHttp(answer.code, answer.headers, answer.body, { method: 'GET' })
      const current = /current: (\d+)$/.exec(received.message)?.[1] ?? ''
      const expected = tooLargeResourceVersion(999999999, current)
      expect(received.status).toEqual(expected.status)
      expect(isTooLargeResourceVersion(received)).toBe(true)
      expect(answer.headers['retry-after']).toBe(toHttp(expected).headers['retry-after'])
    })

    test('an answer without a Status', async () => {
      const answer = await ask('/apis/nosuch')
      const received = fromHttp(answer.code, answer.headers, answer.body, { method: 'GET' })
      expect(received.message).toBe('the server could not find the requested resource')
      expect(received.status.details?.causes?.[0]?.message).toBe('404 page not found')
    })
  })
})

function expectSameRefusal(answer: Answer, error: unknown, accept: string | undefined): void {
  expect(error).toBeInstanceOf(ApiError)
  const { code, status } = toHttp(error)
  const { encoding } = negotiateErrorOutput({ accept, stream: false })
  expect([answer.code, answer.headers['content-type']]).toEqual([code, MEDIA_TYPES[encoding]])
  if (encoding === 'json') expect(JSON.parse(answer.body.toString())).toEqual(status)
}

function tryApiError(action: () => unknown): ApiError | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

function catchApiError(action: () => unknown): ApiError {
  const error = tryApiError(action)
  if (error === undefined) throw new Error('was not refused')
  return error
}

function fieldsOf(name: string): (field: string) => string {
  return (field) => (field === 'metadata.name' ? name : field === 'metadata.namespace' ? 'default' : '')
}

function configMap(name: string, labels: Record<string, string>, metadata: object = {}): unknown {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels, ...metadata } }
}

const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.words.example' },
  spec: {
    group: 'words.example',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}
