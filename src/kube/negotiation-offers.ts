/** What the different places of an API server can answer in. */
import { type Encoding, MEDIA_TYPES, type Rendering, STREAM_ENCODINGS } from './representation.ts'

export interface Offer {
  /** In order of preference; the 406 text names them all. */
  readonly encodings: readonly Encoding[]
  /** Encodings for the object as it is, where they are fewer: custom resources have no protobuf form. */
  readonly objectEncodings?: readonly Encoding[]
  readonly renderings: readonly Rendering[]
}

export interface RouteOffer extends Offer {
  /** Built-in resources stand behind a router that refuses media types which are not literally in this list. */
  readonly routeProduces?: readonly string[]
}

const allEncodings: readonly Encoding[] = ['json', 'yaml', 'protobuf']
const objectRenderings = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'] as const
const mediaTypes = allEncodings.map((encoding) => MEDIA_TYPES[encoding])
const streamMediaTypes = STREAM_ENCODINGS.map((encoding) => `${MEDIA_TYPES[encoding]};stream=watch`)

/** One object of a built-in resource. */
export const BUILT_IN_OBJECT: RouteOffer = {
  encodings: allEncodings,
  renderings: objectRenderings,
  routeProduces: mediaTypes,
}

/** A built-in collection, listed or watched. */
export const BUILT_IN_COLLECTION: RouteOffer = {
  encodings: allEncodings,
  renderings: objectRenderings,
  routeProduces: [...mediaTypes, ...streamMediaTypes],
}

/** Objects and collections of a CustomResourceDefinition. */
export const CUSTOM_RESOURCE: RouteOffer = {
  encodings: allEncodings,
  objectEncodings: ['json', 'yaml'],
  renderings: objectRenderings,
}

/** All groups, versions and resources in one document, and nothing else. */
export const AGGREGATED_DISCOVERY: Offer = {
  encodings: allEncodings,
  objectEncodings: [],
  renderings: ['APIGroupDiscoveryList'],
}

/** Documents with one form only: `/apis/<group>`, `/apis/<group>/<version>`. */
export const PLAIN_DOCUMENT: RouteOffer = { encodings: allEncodings, renderings: [] }
