import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isLongRunning,
  MAX_REQUEST_TARGET_LENGTH,
  parseRequestInfo,
  type RequestInfo,
  type ResourceRequest,
} from './request-info.ts'
import { buildPath, type ResourcePath, ResourcePathError } from './request-info-path.ts'
import { formatQuery, parseQuery } from './request-query.ts'

const hostileRuns = process.env['CAUSEWAY_LONG'] === '1' ? 100_000 : 1000

function read(method: string, path: string): RequestInfo {
  return parseRequestInfo({ method, path })
}

function resource(method: string, path: string): ResourceRequest {
  const info = read(method, path)
  if (info.kind !== 'resource') throw new Error(`${path} is not a resource request`)
  return info
}

/** verb group/version namespace resource/subresource name */
function summary(method: string, path: string): string {
  const { verb, apiGroup, apiVersion, namespace, resource: noun, subresource, name } = resource(method, path)
  return [
    verb,
    `${apiGroup}/${apiVersion}`,
    namespace,
    subresource === '' ? noun : `${noun}/${subresource}`,
    name,
  ].join(' ')
}

describe('resource requests', () => {
  test.each([
    ['GET', '/api/v1/namespaces', 'list /v1  namespaces '],
    ['GET', '/api/v1/namespaces/other', 'get /v1 other namespaces other'],
    ['GET', '/api/v1/namespaces/other/status', 'get /v1 other namespaces/status other'],
    ['PUT', '/api/v1/namespaces/other/finalize', 'update /v1 other namespaces/finalize other'],
    ['GET', '/api/v1/namespaces/other/pods', 'list /v1 other pods '],
    ['GET', '/api/v1/namespaces/other/pods/foo', 'get /v1 other pods foo'],
    ['HEAD', '/api/v1/namespaces/other/pods/foo', 'get /v1 other pods foo'],
    ['GET', '/api/v1/pods', 'list /v1  pods '],
    ['POST', '/api/v1/pods', 'create /v1  pods '],
    ['PUT', '/api/v1/pods/foo', 'update /v1  pods foo'],
    ['PATCH', '/api/v1/pods/foo', 'patch /v1  pods foo'],
    ['DELETE', '/api/v1/pods/foo', 'delete /v1  pods foo'],
    ['DELETE', '/api/v1/namespaces/other/pods', 'deletecollection /v1 other pods '],
    ['OPTIONS', '/api/v1/pods', ' /v1  pods '],
    ['get', '/api/v1/pods', ' /v1  pods '],
    ['GET', '/apis/apps/v1/deployments', 'list apps/v1  deployments '],
    ['GET', '/apis/apps/v1/namespaces/ns/deployments/d/scale', 'get apps/v1 ns deployments/scale d'],
    ['GET', '/api/v1/namespaces/ns/pods/foo/proxy/a/b', 'get /v1 ns pods/proxy foo'],
    ['GET', '/api/v1/watch/namespaces/ns/pods', 'watch /v1 ns pods '],
    ['GET', '/api/v1/watch/pods/foo', 'watch /v1  pods foo'],
    ['POST', '/api/v1/watch/pods', 'watch /v1  pods '],
    ['GET', '/api/v1/proxy/namespaces/ns/pods/foo/status', 'proxy /v1 ns pods foo'],
    ['GET', '/api/v1/pods?watch=true', 'watch /v1  pods '],
    ['GET', '/api/v1/pods?watch=1', 'watch /v1  pods '],
    ['GET', '/api/v1/pods?watch', 'watch /v1  pods '],
    ['GET', '/api/v1/pods?watch=', 'watch /v1  pods '],
    ['GET', '/api/v1/pods?watch=no', 'watch /v1  pods '],
    ['GET', '/api/v1/pods?&watch=true', 'watch /v1  pods '],
    ['GET', '/api/v1/pods?watch=0', 'list /v1  pods '],
    ['GET', '/api/v1/pods?watch=FALSE', 'list /v1  pods '],
    ['GET', '/api/v1/pods?watch=0&watch=1', 'list /v1  pods '],
    ['GET', '/api/v1/pods?watch=%zz', 'list /v1  pods '],
    ['GET', '/api/v1/pods?a;watch=1', 'list /v1  pods '],
    ['GET', '/api/v1/pods/foo?watch=true', 'get /v1  pods foo'],
    ['GET', '/api/v1/pods/', 'list /v1  pods '],
    ['GET', '//api/v1/pods', 'list /v1  pods '],
    ['GET', '///api/v1/pods//', 'list /v1  pods '],
    ['GET', '/api/v1//pods', 'get /v1   pods'],
    ['GET', '/api/v1/namespaces//pods', 'list /v1  pods '],
    ['GET', '/api/v1/namespaces/a%2Fb/pods', 'get /v1 a b pods'],
    ['GET', '/apis//apps/v1/', 'list /apps  v1 '],
    ['GET', '/%61pi/v1/pods/a%20b', 'get /v1  pods a b'],
    ['GET', '/api/v1/pods/a+b', 'get /v1  pods a+b'],
    ['GET', '/api/v1/pods/..', 'get /v1  pods ..'],
    ['GET', 'https://host:6443/api/v1/pods?watch', 'watch /v1  pods '],
  ])('%s %s', (method, path, expected) => {
    expect(summary(method, path)).toBe(expected)
  })

  test.each([
    ['fieldSelector=metadata.name%3Dfoo', 'list', 'foo'],
    ['fieldSelector=metadata.name==foo&watch=1', 'watch', 'foo'],
    ['fieldSelector=metadata.name=foo,status.phase=Running', 'list', 'foo'],
    ['fieldSelector=metadata.name!=foo', 'list', ''],
    ['fieldSelector=metadata.name=a/b', 'list', ''],
    ['fieldSelector=metadata.name=..', 'list', ''],
    ['fieldSelector=metadata.name=foo&fieldSelector=metadata.name=bar', 'list', 'foo'],
    ['fieldSelector=metadata.name=foo&limit=500&timeoutSeconds=5', 'list', 'foo'],
    ['fieldSelector=metadata.name=foo&limit=zz', 'list', ''],
    ['fieldSelector=metadata.name=foo&limit=', 'list', ''],
    ['fieldSelector=metadata.name=foo&timeoutSeconds=1.5&watch=1', 'watch', ''],
    ['fieldSelector=metadata.name=foo&labelSelector=-', 'list', ''],
    ['fieldSelector=metadata.name=foo,oops', 'list', ''],
  ])('the name in %s', (query, verb, name) => {
    const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/ns/pods', query })
    expect(info).toMatchObject({ verb, name })
  })

  test('a deletecollection never takes a name from its selector', () => {
    const info = resource('DELETE', '/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dfoo')
    expect(info).toMatchObject({ verb: 'deletecollection', name: '', fieldSelector: 'metadata.name=foo' })
  })

  test('selectors stay as they were sent, where they mean something', () => {
    const query = 'fieldSelector=oops&labelSelector=a+in+(b)'
    expect(resource('GET', `/api/v1/pods?${query}`)).toMatchObject({ fieldSelector: 'oops', labelSelector: 'a in (b)' })
    expect(resource('GET', `/api/v1/pods/foo?${query}`)).toMatchObject({ fieldSelector: '', labelSelector: '' })
    expect(resource('GET', `/api/v1/watch/pods?${query}`)).toMatchObject({ fieldSelector: '', labelSelector: '' })
    expect(resource('POST', `/api/v1/pods?${query}`)).toMatchObject({ fieldSelector: '', labelSelector: '' })
  })

  test('everything about one request', () => {
    expect(read('GET', '/api/v1/namespaces/ns/pods/foo/proxy/a?b=c')).toEqual({
      kind: 'resource',
      path: '/api/v1/namespaces/ns/pods/foo/proxy/a',
      verb: 'get',
      apiPrefix: 'api',
      apiGroup: '',
      apiVersion: 'v1',
      namespace: 'ns',
      resource: 'pods',
      subresource: 'proxy',
      name: 'foo',
      parts: ['pods', 'foo', 'proxy', 'a'],
      isInNamespace: true,
      isWatchPath: false,
      fieldSelector: '',
      labelSelector: '',
    })
  })
})

describe('other requests', () => {
  test.each([
    '/',
    '',
    '/api',
    '/api/v1',
    '/api/v1/',
    '/apis',
    '/apis/apps',
    '/apis/apps/v1',
    '/healthz',
    '/apix/v1/pods',
    '*',
  ])('%j is not about a resource', (path) => {
    expect(read('GET', path).kind).toBe('non-resource')
  })

  test('path and method are kept', () => {
    expect(read('GET', '/foo%20bar?x=y')).toEqual({ kind: 'non-resource', path: '/foo bar', verb: 'get' })
    expect(read('Post', '/x')).toEqual({ kind: 'non-resource', path: '/x', verb: 'post' })
  })

  test.each([
    ['/api/v1/watch', 500, 'unable to determine kind and namespace from url, /api/v1/watch'],
    ['/api/v1/proxy', 500, 'unable to determine kind and namespace from url, /api/v1/proxy'],
    ['/api/v1/pods/%zz', 400, 'a % that is not followed by two hex digits'],
    ['/api/v1/pods/%ff', 400, 'the path of the request is not valid UTF-8'],
    ['/api/v1/pods/ü', 400, 'must be percent-encoded'],
    ['/api/v1/pods/a\r\nb', 400, 'must be percent-encoded'],
    ['/api/v1/pods/a b', 400, 'must be percent-encoded'],
    [`/${'a'.repeat(MAX_REQUEST_TARGET_LENGTH)}`, 400, 'longer than 65536'],
  ])('%s is refused', (path, code, message) => {
    expect(() => read('GET', path)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) as string }),
    )
  })

  test('no target does anything but parse or be refused', () => {
    const piece = fc.constantFrom(
      '/',
      'api',
      'apis',
      'v1',
      'watch',
      'proxy',
      'namespaces',
      'pods',
      '%',
      '2F',
      '?',
      '&',
      '=',
      ';',
      'watch=1',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        try {
          const info = read('GET', pieces.join(''))
          if (info.kind === 'resource') expect(info.parts[0]).toBe(info.resource)
        } catch (error) {
          expect(error).toMatchObject({ name: 'ApiError' })
        }
      }),
      { numRuns: hostileRuns },
    )
  })
})

describe('long-running requests', () => {
  test.each([
    ['/api/v1/pods?watch=1', true],
    ['/api/v1/watch/pods', true],
    ['/api/v1/proxy/nodes/n', true],
    ['/api/v1/namespaces/ns/pods/p/exec', true],
    ['/api/v1/namespaces/ns/pods/p/attach', true],
    ['/api/v1/namespaces/ns/pods/p/portforward', true],
    ['/api/v1/namespaces/ns/pods/p/log', true],
    ['/api/v1/namespaces/ns/services/s/proxy', true],
    ['/debug/pprof/profile', true],
    ['/api/v1/pods', false],
    ['/api/v1/namespaces/ns/pods/p/status', false],
    ['/healthz', false],
  ])('%s: %s', (path, expected) => {
    expect(isLongRunning(read('GET', path))).toBe(expected)
  })
})

describe('building paths', () => {
  test('what is built reads back the same', () => {
    const segment = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !/[/%]|^\.\.?$/.test(text))
    const word = segment.filter((text) => !['namespaces', 'watch', 'proxy', 'status', 'finalize'].includes(text))
    const orNothing = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.oneof(fc.constant(''), text)
    const object = fc.record({
      apiGroup: orNothing(word),
      apiVersion: word,
      namespace: orNothing(word),
      resource: word,
      name: word,
      subresource: orNothing(word),
    })
    const target = fc.oneof(
      object,
      object.map((path) => ({ ...path, name: '', subresource: '' })),
    )
    const methods = fc.constantFrom('GET', 'PUT', 'PATCH', 'POST', 'DELETE')
    fc.assert(
      fc.property(target, methods, (path, method) => {
        expect(resource(method, buildPath(path))).toMatchObject(path)
      }),
    )
  })

  const pods: ResourcePath = {
    apiGroup: '',
    apiVersion: 'v1',
    namespace: 'ns',
    resource: 'pods',
    name: 'a',
    subresource: '',
  }

  test.each<[Partial<ResourcePath>, string]>([
    [{}, '/api/v1/namespaces/ns/pods/a'],
    [{ namespace: '', name: '' }, '/api/v1/pods'],
    [
      { apiGroup: 'apps', resource: 'deployments', subresource: 'scale' },
      '/apis/apps/v1/namespaces/ns/deployments/a/scale',
    ],
    [{ namespace: '', resource: 'namespaces', subresource: 'status' }, '/api/v1/namespaces/a/status'],
    [{ namespace: 'a', resource: 'namespaces' }, '/api/v1/namespaces/a'],
    [{ namespace: '', resource: 'clusterroles', name: 'system:node' }, '/api/v1/clusterroles/system%3Anode'],
  ])('%j', (change, path) => {
    expect(buildPath({ ...pods, ...change })).toBe(path)
  })

  test.each<[Partial<ResourcePath>, string]>([
    [{ apiVersion: '' }, 'needs a version and a resource'],
    [{ resource: '' }, 'needs a version and a resource'],
    [{ name: '', subresource: 'status' }, 'subresource status needs a name'],
    [{ name: '..' }, 'cannot be a segment of a path'],
    [{ name: 'a/b' }, 'cannot be a segment of a path'],
    [{ name: '50%' }, 'cannot be a segment of a path'],
    [{ name: '\ud800' }, 'not valid Unicode'],
    [{ namespace: '', resource: 'watch' }, 'means something else'],
    [{ resource: 'finalize' }, 'means something else'],
    [{ resource: 'namespaces' }, 'cannot be inside the namespace ns'],
    [{ namespace: '', resource: 'namespaces', subresource: 'scale' }, 'not a subresource of namespaces'],
  ])('%j is refused', (change, message) => {
    expect(() => buildPath({ ...pods, ...change })).toThrow(ResourcePathError)
    expect(() => buildPath({ ...pods, ...change })).toThrow(message)
  })
})

describe('queries', () => {
  test('agree with URLSearchParams wherever that has no rules of its own', () => {
    const text = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 6 }), (pairs) => {
        const encoded = new URLSearchParams(pairs)
        const query = parseQuery(encoded.toString())
        for (const [name] of pairs) expect(query.all(name)).toEqual(encoded.getAll(name))
      }),
    )
  })

  test('the first value counts', () => {
    expect(parseQuery('a=1&a=2&b').first('a')).toBe('1')
    expect(parseQuery('a=1&a=2&b').first('b')).toBe('')
    expect(parseQuery('a=1').first('c')).toBeUndefined()
  })

  test('what is not UTF-8 is kept apart', () => {
    expect(parseQuery('a=1&b=%c3%bc')).toMatchObject({ isText: true })
    for (const raw of ['a=%ff', '%ff', 'a=1&b=%c3', 'a=%ed%a0%80']) {
      expect(parseQuery(raw)).toMatchObject({ isText: false, raw })
    }
    expect(parseQuery('a=x%ff%c3%bc+y').first('a')).toBe('x\ufffdü y')
  })

  test('what we write is read back', () => {
    const text = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 6 }), (pairs) => {
        const query = parseQuery(formatQuery(pairs))
        for (const [name] of pairs) {
          expect(query.all(name)).toEqual(pairs.filter(([other]) => other === name).map(([, value]) => value))
        }
      }),
    )
  })
})
