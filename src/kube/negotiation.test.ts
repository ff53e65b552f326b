import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  negotiateDiscovery,
  negotiateErrorOutput,
  negotiateOutput,
  type OutputRequest,
  renderingMismatch,
} from './negotiation.ts'
import { negotiateBody, negotiatePatch } from './negotiation-body.ts'
import {
  BUILT_IN_COLLECTION,
  BUILT_IN_OBJECT,
  CUSTOM_RESOURCE,
  PLAIN_DOCUMENT,
  type RouteOffer,
} from './negotiation-offers.ts'
import { representationKey } from './representation.ts'

const hostileRuns = process.env['CAUSEWAY_LONG'] === '1' ? 100_000 : 1000

const table = 'as=Table;g=meta.k8s.io;v=v1'
const partial = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const partialList = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const aggregated = 'as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2'
const protobuf = 'application/vnd.kubernetes.protobuf'
const accepted =
  'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf'
const routeRefusal =
  '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf'

function key(accept: string | undefined, endpoint: RouteOffer, rest: Partial<OutputRequest> = {}): string {
  return representationKey(negotiateOutput({ accept, stream: false, ...rest }, endpoint).representation)
}

describe('output', () => {
  test.each<[string | undefined, string]>([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/yaml', 'yaml'],
    [protobuf, 'protobuf'],
    [`${protobuf},application/json`, 'protobuf'],
    [`${protobuf};q=0.5,application/json`, 'json'],
    ['application/json;q=0', 'json'],
    ['foo/bar, */*;q=0.1', 'json'],
    ['application/json;stream=watch', 'json'],
    ['application/json;unknown=1', 'json'],
    ['application/json;sv=v1', 'json'],
    [`application/json;${table}`, 'json;Table/v1;Metadata'],
    [`application/json;${table},application/json`, 'json;Table/v1;Metadata'],
    [`*/*;${table}`, 'json;Table/v1;Metadata'],
    ['application/json;as=Table;g=meta.k8s.io;v=v1beta1', 'json;Table/v1beta1;Metadata'],
    [`${protobuf};${table},application/json`, 'json'],
    [`${protobuf};${partialList}`, 'protobuf;PartialObjectMetadataList/v1'],
    [`application/yaml;${partial}`, 'yaml;PartialObjectMetadata/v1'],
    ['application/json;as=Bogus;g=meta.k8s.io;v=v1,application/yaml', 'yaml'],
    ['application/json;v=v1,application/yaml', 'yaml'],
  ])('%j gives %s', (accept, expected) => {
    expect(key(accept, BUILT_IN_OBJECT)).toBe(expected)
  })

  test.each<[string, RouteOffer, string]>([
    ['application/xml', BUILT_IN_OBJECT, routeRefusal],
    ['APPLICATION/JSON', BUILT_IN_OBJECT, routeRefusal],
    ['application/*', BUILT_IN_OBJECT, routeRefusal],
    ['application', BUILT_IN_OBJECT, routeRefusal],
    [
      'text/*',
      BUILT_IN_COLLECTION,
      `${routeRefusal}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch`,
    ],
    ['application/json;stream=foo', BUILT_IN_OBJECT, accepted],
    ['application/yaml;stream=watch', BUILT_IN_COLLECTION, accepted],
    ['application/json;sv=v2', BUILT_IN_OBJECT, accepted],
    [`${protobuf};${table}`, BUILT_IN_OBJECT, accepted],
    ['application/json;as=Bogus;g=meta.k8s.io;v=v1', BUILT_IN_OBJECT, accepted],
    ['application/json;as=Table;g=meta.k8s.io;v=v2', BUILT_IN_OBJECT, accepted],
    ['application/json;as=Table', BUILT_IN_OBJECT, accepted],
    ['application/xml', CUSTOM_RESOURCE, accepted],
    [protobuf, CUSTOM_RESOURCE, accepted],
    [`application/json;${table}`, PLAIN_DOCUMENT, accepted],
    ['application/json;sv=v1', PLAIN_DOCUMENT, accepted],
  ])('%j is not acceptable', (accept, endpoint, message) => {
    const refused = expect.objectContaining({ code: 406, reason: 'NotAcceptable', message })
    expect(() => key(accept, endpoint)).toThrow(refused)
  })

  test('custom resources have protobuf for metadata only, and no router before them', () => {
    expect(key('application/*', CUSTOM_RESOURCE)).toBe('json')
    expect(key(`${protobuf},application/json`, CUSTOM_RESOURCE)).toBe('json')
    expect(key(`${protobuf};${partialList}`, CUSTOM_RESOURCE)).toBe('protobuf;PartialObjectMetadataList/v1')
  })

  test('a watch needs an encoding that streams', () => {
    expect(key(protobuf, BUILT_IN_COLLECTION, { stream: true })).toBe('protobuf')
    expect(() => key('application/yaml', BUILT_IN_COLLECTION, { stream: true })).toThrow(
      'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
    )
  })

  test('includeObject is part of a Table', () => {
    const accept = `application/json;${table}`
    expect(key(accept, BUILT_IN_COLLECTION, { includeObject: 'Object' })).toBe('json;Table/v1;Object')
    expect(key('application/json', BUILT_IN_COLLECTION, { includeObject: 'Foo' })).toBe('json')
    expect(() => key(accept, BUILT_IN_COLLECTION, { includeObject: 'Foo' })).toThrow(
      expect.objectContaining({
        code: 400,
        message: `Unable to convert to Table as requested: includeObject: Invalid value: "Foo": must be 'Metadata', 'Object', 'None', or empty`,
      }),
    )
  })

  test.each<[Partial<OutputRequest>, boolean]>([
    [{}, false],
    [{ accept: 'application/json;pretty=1' }, true],
    [{ accept: 'application/json;pretty=true' }, false],
    [{ pretty: 'true' }, true],
    [{ pretty: 'yes' }, false],
    [{ pretty: '', userAgent: 'curl/8.1' }, true],
    [{ pretty: 'false', userAgent: 'curl/8.1' }, false],
    [{ userAgent: 'Mozilla/5.0 (X11)' }, true],
    [{ userAgent: 'kubectl/v1.36.4' }, false],
    [{ accept: 'application/yaml', pretty: '1' }, false],
    [{ accept: 'application/json', pretty: '1', stream: true }, false],
  ])('%j is pretty: %s', (request, pretty) => {
    expect(negotiateOutput({ stream: false, ...request }, BUILT_IN_COLLECTION).pretty).toBe(pretty)
  })

  test('any header is either answered with an offered encoding or refused with a 406', () => {
    const piece = fc.constantFrom(
      'application',
      '*',
      'json',
      'yaml',
      '/',
      ';',
      ',',
      '=',
      'q',
      '0.5',
      'as',
      'Table',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 16 }), (pieces) => {
        try {
          const { representation } = negotiateOutput({ accept: pieces.join(''), stream: false }, CUSTOM_RESOURCE)
          expect(['json', 'yaml']).toContain(representation.encoding)
        } catch (error) {
          expect(error).toMatchObject({ code: 406, reason: 'NotAcceptable' })
        }
      }),
      { numRuns: hostileRuns },
    )
  })
})

describe('discovery', () => {
  test.each<[string | undefined, string]>([
    [undefined, 'json'],
    ['application/json', 'json'],
    [`application/json;${aggregated},application/json`, 'json;APIGroupDiscoveryList/v2'],
    [`application/json,application/json;${aggregated}`, 'json;APIGroupDiscoveryList/v2'],
    [`application/json;${aggregated}beta1,application/json`, 'json'],
  ])('%j gives %s', (accept, expected) => {
    expect(representationKey(negotiateDiscovery({ accept, stream: false }).representation)).toBe(expected)
  })

  test('a profile is passed on', () => {
    const accept = `application/json;${aggregated};profile=nopeer`
    expect(negotiateDiscovery({ accept, stream: false }).profile).toBe('nopeer')
  })

  test.each(['application/xml', `application/json;${aggregated}beta1`])('%j is not acceptable', (accept) => {
    expect(() => negotiateDiscovery({ accept, stream: false })).toThrow(accepted)
  })
})

describe('errors', () => {
  test.each<[string | undefined, string, boolean]>([
    [undefined, 'json', false],
    [protobuf, 'protobuf', false],
    [`application/json;${table}`, 'json', true],
    ['application/xml', 'json', true],
    ['a/b,'.repeat(10_000), 'json', true],
    ['application/json;pretty=1', 'json', true],
  ])('to %j an error goes as %s, pretty %s', (accept, encoding, pretty) => {
    expect(negotiateErrorOutput({ accept, stream: false })).toEqual({ encoding, pretty })
  })

  test('metadata of the wrong shape', () => {
    const one = { as: 'PartialObjectMetadata', encoding: 'json', version: 'v1' } as const
    const list = { ...one, as: 'PartialObjectMetadataList' } as const
    expect(renderingMismatch(one, true, '*core.PodList')?.message).toBe(
      'you requested PartialObjectMetadata, but the requested object is a list (*core.PodList)',
    )
    expect(renderingMismatch(list, false, '*core.Pod')?.message).toBe(
      'you requested PartialObjectMetadataList, but the requested object is not a list (*core.Pod)',
    )
    expect([renderingMismatch(one, false, ''), renderingMismatch(list, true, '')]).toEqual([undefined, undefined])
  })
})

describe('bodies', () => {
  test.each<[string | undefined, string]>([
    [undefined, 'json'],
    ['', 'json'],
    ['Application/JSON; charset=utf-8', 'json'],
    ['application/yaml', 'yaml'],
    [protobuf, 'protobuf'],
  ])('%j is %s', (contentType, encoding) => {
    expect(negotiateBody(contentType)).toBe(encoding)
  })

  test.each(['text/xml', 'application/json; charset', 'json', 'application/cbor', 'application/json,application/yaml'])(
    '%j is not supported',
    (contentType) => {
      const message =
        'the body of the request was in an unknown format - accepted media types include: ' +
        'application/json, application/yaml, application/vnd.kubernetes.protobuf'
      expect(() => negotiateBody(contentType)).toThrow(
        expect.objectContaining({ code: 415, reason: 'UnsupportedMediaType', message }),
      )
    },
  )

  test.each([
    ['application/json-patch+json', 'json-patch'],
    ['application/merge-patch+json; charset=utf-8', 'merge-patch'],
    ['application/strategic-merge-patch+json', 'strategic-merge-patch'],
    ['application/apply-patch+yaml', 'apply'],
  ])('%j is a %s', (contentType, patchType) => {
    expect(negotiatePatch(contentType, 'built-in')).toBe(patchType)
  })

  const router = '415: Unsupported Media Type'
  const customTypes = 'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'
  test.each<[string | undefined, 'built-in' | 'custom', string]>([
    [undefined, 'built-in', router],
    ['application/json', 'built-in', router],
    ['application/apply-patch+cbor', 'built-in', router],
    ['Application/merge-patch+json', 'built-in', router],
    [
      'application/merge-patch+json ;charset=utf-8',
      'built-in',
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, ' +
        'application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml',
    ],
    [
      'application/strategic-merge-patch+json',
      'custom',
      `the body of the request was in an unknown format - accepted media types include: ${customTypes}`,
    ],
  ])('%j is no patch of a %s resource', (contentType, resource, message) => {
    const refused = expect.objectContaining({ code: 415, reason: 'UnsupportedMediaType', message })
    expect(() => negotiatePatch(contentType, resource)).toThrow(refused)
  })
})
