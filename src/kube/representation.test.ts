import { expect, test } from 'vitest'
import { negotiateDiscovery, negotiateOutput } from './negotiation.ts'
import { BUILT_IN_OBJECT } from './negotiation-offers.ts'
import {
  acceptHeader,
  type Encoding,
  type IncludeObject,
  itemRepresentation,
  type MetaVersion,
  type Representation,
  representationKey,
  responseContentType,
} from './representation.ts'

const encodings: Encoding[] = ['json', 'yaml', 'protobuf']
const versions: MetaVersion[] = ['v1', 'v1beta1']
const inclusions: IncludeObject[] = ['Metadata', 'Object', 'None']

const all: Representation[] = [
  ...encodings.map((encoding): Representation => ({ as: 'Object', encoding })),
  ...(['json', 'yaml'] as const).flatMap((encoding) =>
    versions.flatMap((version) =>
      inclusions.map((includeObject): Representation => ({ as: 'Table', encoding, version, includeObject })),
    ),
  ),
  ...(['PartialObjectMetadata', 'PartialObjectMetadataList'] as const).flatMap((as) =>
    encodings.flatMap((encoding) => versions.map((version): Representation => ({ as, encoding, version }))),
  ),
  ...encodings.map((encoding): Representation => ({ as: 'APIGroupDiscoveryList', encoding, version: 'v2' })),
]

test('every representation has a key of its own', () => {
  expect(new Set(all.map(representationKey)).size).toBe(all.length)
})

test.each(all)('what $as/$encoding asks for is what it gets', (representation) => {
  const includeObject = representation.as === 'Table' ? representation.includeObject : undefined
  const request = { accept: acceptHeader(representation), includeObject, stream: false }
  const output =
    representation.as === 'APIGroupDiscoveryList'
      ? negotiateDiscovery(request)
      : negotiateOutput(request, BUILT_IN_OBJECT)
  expect(output.representation).toEqual(representation)
})

test('a list of metadata and a watch of metadata are one feed', () => {
  const list: Representation = { as: 'PartialObjectMetadataList', encoding: 'protobuf', version: 'v1' }
  const watch: Representation = { as: 'PartialObjectMetadata', encoding: 'protobuf', version: 'v1' }
  expect(itemRepresentation(list)).toEqual(watch)
  expect(itemRepresentation(watch)).toEqual(watch)
  expect(itemRepresentation({ as: 'Object', encoding: 'json' })).toEqual({ as: 'Object', encoding: 'json' })
})

test.each<[Representation, boolean, string]>([
  [{ as: 'Object', encoding: 'json' }, false, 'application/json'],
  [{ as: 'Object', encoding: 'json' }, true, 'application/json'],
  [{ as: 'Object', encoding: 'yaml' }, false, 'application/yaml'],
  [{ as: 'Object', encoding: 'protobuf' }, false, 'application/vnd.kubernetes.protobuf'],
  [{ as: 'Object', encoding: 'protobuf' }, true, 'application/vnd.kubernetes.protobuf;stream=watch'],
  [{ as: 'Table', encoding: 'json', version: 'v1', includeObject: 'None' }, true, 'application/json'],
  [
    { as: 'APIGroupDiscoveryList', encoding: 'json', version: 'v2' },
    false,
    'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  ],
])('content type of %j, stream %s', (representation, stream, contentType) => {
  expect(responseContentType(representation, { stream })).toBe(contentType)
})
