/** Accept negotiation: which representation a response gets, or a 406 in the API server's words. */
import { type AcceptClause, parseAccept, trimSpaces } from './media-type-accept.ts'
import { AGGREGATED_DISCOVERY, type Offer, PLAIN_DOCUMENT, type RouteOffer } from './negotiation-offers.ts'
import {
  type Encoding,
  type IncludeObject,
  MEDIA_TYPES,
  type MetaVersion,
  type Rendering,
  type Representation,
  STREAM_ENCODINGS,
} from './representation.ts'
import { formatFieldError, invalidField } from './status/field-error.ts'
import { genericServerResponse } from './status/generic-response.ts'
import { badRequest, notAcceptable, notAcceptableMediaType } from './status/request-errors.ts'
import { ApiError } from './status/status.ts'

export interface OutputRequest {
  /** The first Accept header line; the API server reads no other. */
  readonly accept?: string | undefined
  readonly userAgent?: string | undefined
  /** The `pretty` query parameter. */
  readonly pretty?: string | undefined
  /** The `includeObject` query parameter; it matters for Tables only. */
  readonly includeObject?: string | undefined
  /** True for a watch, whose encoding must be able to stream. */
  readonly stream: boolean
}

export interface NegotiatedOutput {
  readonly representation: Representation
  /** Indented JSON for human eyes; never in a stream. */
  readonly pretty: boolean
  readonly stream: boolean
  /** Discovery profile (`nopeer`), empty if none was asked for. */
  readonly profile: string
}

interface Match {
  readonly encoding: Encoding
  readonly clause: AcceptClause | undefined
}

export function negotiateOutput(request: OutputRequest, offer: RouteOffer): NegotiatedOutput {
  checkRoute(request.accept, offer)
  const match = findMatch(request.accept, offer)
  if (match === undefined) throw notAcceptableMediaType(offer.encodings.map((encoding) => MEDIA_TYPES[encoding]))
  const output = outputOf(match, request)
  if (request.stream && !STREAM_ENCODINGS.includes(match.encoding)) throw notAcceptableMediaType(streamTypes(offer))
  return output
}

function outputOf(match: Match, request: OutputRequest): NegotiatedOutput {
  return {
    representation: representationOf(match, request),
    pretty: !request.stream && match.encoding === 'json' && isPretty(match, request),
    stream: request.stream,
    profile: match.clause?.parameters.get('profile') ?? '',
  }
}

/** For `/api` and `/apis`: whoever accepts the aggregated document gets it, even if a plain one is dearer to them. */
export function negotiateDiscovery(request: OutputRequest): NegotiatedOutput {
  const accepts = request.accept !== undefined && request.accept !== ''
  const match = accepts ? findMatch(request.accept, AGGREGATED_DISCOVERY) : undefined
  return match === undefined ? negotiateOutput(request, PLAIN_DOCUMENT) : outputOf(match, request)
}

export interface ErrorOutput {
  readonly encoding: Encoding
  readonly pretty: boolean
}

/** How an error is sent to this client: never refused, and indented JSON when nothing else fits. */
export function negotiateErrorOutput(request: OutputRequest): ErrorOutput {
  const match = findPlainMatch(request.accept)
  if (match === undefined) return { encoding: 'json', pretty: true }
  return { encoding: match.encoding, pretty: match.encoding === 'json' && isPretty(match, request) }
}

function findPlainMatch(accept: string | undefined): Match | undefined {
  try {
    return findMatch(accept, PLAIN_DOCUMENT)
  } catch (error) {
    if (error instanceof ApiError) return undefined // a header beyond the limits must not hide the first error
    throw error
  }
}

/** Media types are compared letter by letter and `application/*` is unknown here. Only then negotiation begins. */
function checkRoute(accept: string | undefined, { routeProduces }: RouteOffer): void {
  if (routeProduces === undefined || accept === undefined || accept === '') return
  const wanted = accept.split(',').map((clause) => trimSpaces(clause.split(';')[0] ?? ''))
  if (wanted.some((mediaType) => mediaType === '*/*' || routeProduces.includes(mediaType))) return
  throw genericServerResponse({
    code: 406,
    method: '',
    serverMessage: `406: Not Acceptable\n\nAvailable representations: ${routeProduces.join(', ')}`,
    unexpected: false,
  })
}

function findMatch(accept: string | undefined, offer: Offer): Match | undefined {
  const [preferred] = offer.encodings
  if (accept === undefined || accept === '') {
    return preferred === undefined ? undefined : { encoding: preferred, clause: undefined }
  }
  for (const clause of parseAccept(accept)) {
    const encoding = offer.encodings.find((candidate) => fits(clause, candidate) && allows(offer, candidate, clause))
    if (encoding !== undefined) return { encoding, clause }
  }
  return undefined
}

function fits({ type, subtype }: AcceptClause, encoding: Encoding): boolean {
  if (type === '*' && subtype === '*') return true
  return type === 'application' && (subtype === '*' || `application/${subtype}` === MEDIA_TYPES[encoding])
}

/** Parameters that the server does not know are passed over; one that it knows and cannot honour rules the clause out. */
function allows(offer: Offer, encoding: Encoding, { parameters }: AcceptClause): boolean {
  const stream = parameters.get('stream') ?? ''
  if (stream !== '' && !(stream === 'watch' && STREAM_ENCODINGS.includes(encoding))) return false
  // The version of the server's own types; only resources know one.
  const serverVersion = parameters.get('sv') ?? ''
  if (serverVersion !== '' && !(serverVersion === 'v1' && offer.renderings.includes('Table'))) return false
  const asIs = !['as', 'g', 'v'].some((name) => parameters.has(name))
  if (asIs) return (offer.objectEncodings ?? offer.encodings).includes(encoding)
  return allowsRendering(offer, encoding, parameters)
}

function allowsRendering({ renderings }: Offer, encoding: Encoding, parameters: ReadonlyMap<string, string>): boolean {
  const rendering = renderings.find((candidate) => candidate === parameters.get('as'))
  const groupVersion = `${parameters.get('g') ?? ''}/${parameters.get('v') ?? ''}`
  if (rendering === undefined) return false
  if (rendering === 'APIGroupDiscoveryList') return groupVersion === 'apidiscovery.k8s.io/v2'
  if (groupVersion !== 'meta.k8s.io/v1' && groupVersion !== 'meta.k8s.io/v1beta1') return false
  return rendering !== 'Table' || encoding !== 'protobuf'
}

/** The clause has passed `allows`, so its parameters hold nothing but known words. */
function representationOf({ encoding, clause }: Match, { includeObject }: OutputRequest): Representation {
  const as = clause?.parameters.get('as') as Rendering | undefined
  const version = clause?.parameters.get('v') as MetaVersion
  if (as === undefined) return { as: 'Object', encoding }
  if (as === 'APIGroupDiscoveryList') return { as, encoding, version: 'v2' }
  if (as !== 'Table') return { as, encoding, version }
  const textEncoding = encoding === 'yaml' ? 'yaml' : 'json'
  return { as, encoding: textEncoding, version, includeObject: readIncludeObject(includeObject) }
}

function readIncludeObject(value = ''): IncludeObject {
  if (value === '' || value === 'Metadata') return 'Metadata'
  if (value === 'Object' || value === 'None') return value
  const error = invalidField('includeObject', value, "must be 'Metadata', 'Object', 'None', or empty")
  throw badRequest(`Unable to convert to Table as requested: ${formatFieldError(error)}`)
}

/** User agents of people: curl, wget and every browser. */
const humanUserAgents = ['curl', 'Wget', 'Mozilla/5.0']
const trueWords = ['1', 't', 'T', 'TRUE', 'true', 'True']

function isPretty({ clause }: Match, { pretty = '', userAgent = '' }: OutputRequest): boolean {
  if (clause?.parameters.get('pretty') === '1') return true
  if (pretty !== '') return trueWords.includes(pretty)
  return humanUserAgents.some((prefix) => userAgent.startsWith(prefix))
}

function streamTypes({ encodings }: RouteOffer): string[] {
  return encodings
    .filter((encoding) => STREAM_ENCODINGS.includes(encoding))
    .map((encoding) => `${MEDIA_TYPES[encoding]};stream=watch`)
}

/** The 406 for metadata of one object asked of a list, or the other way round. `typeName` is what the server calls it. */
export function renderingMismatch(
  representation: Representation,
  isList: boolean,
  typeName: string,
): ApiError | undefined {
  const { as } = representation
  if (as === 'PartialObjectMetadata' && isList) {
    return notAcceptable(`you requested ${as}, but the requested object is a list (${typeName})`)
  }
  if (as === 'PartialObjectMetadataList' && !isList) {
    return notAcceptable(`you requested ${as}, but the requested object is not a list (${typeName})`)
  }
  return undefined
}
