/** What a client negotiated: an encoding, and the object itself or one of the server's renderings of it. */
export type Encoding = 'json' | 'yaml' | 'protobuf'

/** `Metadata` is the default; it decides what each row of a Table carries besides its cells. */
export type IncludeObject = 'Metadata' | 'Object' | 'None'
export type MetaVersion = 'v1' | 'v1beta1'

export type Representation =
  | { readonly as: 'Object'; readonly encoding: Encoding }
  | {
      readonly as: 'Table'
      readonly encoding: 'json' | 'yaml'
      readonly version: MetaVersion
      readonly includeObject: IncludeObject
    }
  | {
      readonly as: 'PartialObjectMetadata' | 'PartialObjectMetadataList'
      readonly encoding: Encoding
      readonly version: MetaVersion
    }
  | { readonly as: 'APIGroupDiscoveryList'; readonly encoding: Encoding; readonly version: 'v2' }

/** What the server can make of an object besides sending it as it is. */
export type Rendering = Exclude<Representation['as'], 'Object'>

export const MEDIA_TYPES: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
}

/** YAML has no framing, so it cannot carry a watch. */
export const STREAM_ENCODINGS: readonly Encoding[] = ['json', 'protobuf']

/** One string per representation: equal strings mean equal bytes for the same objects. Feeds and caches key on it. */
export function representationKey(representation: Representation): string {
  const { as, encoding } = representation
  if (as === 'Object') return encoding
  const rendering = `${encoding};${as}/${representation.version}`
  return as === 'Table' ? `${rendering};${representation.includeObject}` : rendering
}

/**
 * The representation of the single items of a collection. Clients ask for a PartialObjectMetadataList when they list
 * and for PartialObjectMetadata when they watch: both are one feed.
 */
export function itemRepresentation(representation: Representation): Representation {
  return representation.as === 'PartialObjectMetadataList'
    ? { ...representation, as: 'PartialObjectMetadata' }
    : representation
}

/** Content-Type of a response. Only discovery names its rendering; JSON streams look like JSON. */
export function responseContentType(representation: Representation, options: { readonly stream: boolean }): string {
  const mediaType = MEDIA_TYPES[representation.encoding]
  if (representation.as === 'APIGroupDiscoveryList') {
    return `${mediaType};g=apidiscovery.k8s.io;v=${representation.version};as=${representation.as}`
  }
  return options.stream && representation.encoding !== 'json' ? `${mediaType};stream=watch` : mediaType
}

/** What a client sends to get these representations, the dearest first. `includeObject` of a Table goes into the query. */
export function acceptHeader(...representations: readonly Representation[]): string {
  return representations.map(acceptClause).join(',')
}

function acceptClause(representation: Representation): string {
  const mediaType = MEDIA_TYPES[representation.encoding]
  if (representation.as === 'Object') return mediaType
  const group = representation.as === 'APIGroupDiscoveryList' ? 'apidiscovery.k8s.io' : 'meta.k8s.io'
  return `${mediaType};as=${representation.as};g=${group};v=${representation.version}`
}
