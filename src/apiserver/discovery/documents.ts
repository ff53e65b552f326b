/**
 * Answers the discovery paths from a source of group versions. Documents are made on first use, kept as the bytes of each
 * encoding that somebody asked for, and made again when the source has changed.
 */

import { encodeBody } from '../../kube/codec/encode-body.ts'
import { encodeMessage } from '../../kube/codec/object-codec.ts'
import { writeEnvelope } from '../../kube/envelope.ts'
import {
  type NegotiatedOutput,
  negotiateDiscovery,
  negotiateOutput,
  type OutputRequest,
} from '../../kube/negotiation.ts'
import { PLAIN_DOCUMENT } from '../../kube/negotiation-offers.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { responseContentType } from '../../kube/representation.ts'
import { findKind } from '../../kube/schema/schema.ts'
import { aggregatedETag, groupDiscoveryList } from './aggregated.ts'
import { coreVersions, groupDocument, groupList, resourceList } from './legacy.ts'
import { groupInOrder, type TieBreak, type VersionsOfGroup } from './order.ts'
import type { DiscoveryGroupVersion, DiscoverySource } from './source.ts'

export interface DiscoveryResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface DiscoveryOptions {
  readonly source: DiscoverySource
  /** `host:port` under which clients reach this server; `/api` names it. */
  readonly serverAddress: string
}

/** `/apis` has neither, `/api` the empty group. */
interface DiscoveryPath {
  readonly group?: string | undefined
  readonly version?: string | undefined
}

const noBody = Buffer.alloc(0)

export class DiscoveryDocuments {
  readonly #options: DiscoveryOptions
  readonly #kept = new Map<string, unknown>()
  #generation: number

  constructor(options: DiscoveryOptions) {
    this.#options = options
    this.#generation = options.source.generation
  }

  /** Which representation a request for this path gets; a 406 is thrown as an ApiError. */
  negotiate(path: string, request: OutputRequest): NegotiatedOutput {
    return isRoot(withoutSlash(path)) ? negotiateDiscovery(request) : negotiateOutput(request, PLAIN_DOCUMENT)
  }

  /** Undefined where no document belongs to the path: it is somebody else's, or not found. */
  discoveryDocument(path: string, output: NegotiatedOutput, ifNoneMatch?: string): DiscoveryResponse | undefined {
    this.#forgetIfChanged()
    const name = withoutSlash(path)
    const place = readPath(name)
    if (place === undefined) return undefined
    if (output.representation.as === 'APIGroupDiscoveryList') return this.#aggregated(name, output, ifNoneMatch)
    const make = this.#legacyDocument(place)
    if (make === undefined) return undefined
    const headers = { 'content-type': responseContentType(output.representation, { stream: false }) }
    return { status: 200, headers, body: this.#bytes(name, output, make) }
  }

  #aggregated(name: string, output: NegotiatedOutput, ifNoneMatch = ''): DiscoveryResponse | undefined {
    if (!isRoot(name)) return undefined
    const groups = this.#groups('group-name').filter(({ group }) => (group === '') === (name === '/api'))
    const etag = this.#keep(`etag ${name}`, () => aggregatedETag(groups))
    const caching = { 'cache-control': 'public', etag, vary: 'Accept' }
    if (ifNoneMatch === etag) return { status: 304, headers: caching, body: noBody }
    const headers = { ...caching, 'content-type': responseContentType(output.representation, { stream: false }) }
    const body = this.#bytes(`aggregated ${name}`, output, () => groupDiscoveryList(groups))
    return { status: 200, headers, body }
  }

  #legacyDocument(place: DiscoveryPath): (() => KubeObject) | undefined {
    const groups = this.#groups('api-service-name')
    if (place.group === undefined) return () => groupList(groups.filter(({ group }) => group !== ''))
    const group = groups.find((candidate) => candidate.group === place.group)
    if (group === undefined) return undefined
    if (place.version === undefined) {
      return () => (group.group === '' ? coreVersions(group, this.#options.serverAddress) : groupDocument(group))
    }
    const found = group.versions.find(({ version }) => version === place.version)
    return found && (() => resourceList(found))
  }

  #groups(tieBreak: TieBreak): VersionsOfGroup<DiscoveryGroupVersion>[] {
    return this.#keep(`groups ${tieBreak}`, () => groupInOrder(this.#options.source.groupVersions(), tieBreak))
  }

  #bytes(name: string, { representation, pretty }: NegotiatedOutput, make: () => KubeObject): Buffer {
    const key = `bytes ${name} ${representation.encoding} ${pretty}`
    return this.#keep(key, () =>
      representation.encoding === 'protobuf' ? toProtobuf(make()) : encodeBody(make(), representation.encoding, pretty),
    )
  }

  /** The key says what kind of thing is kept under it, so that the type given back is the one that was put in. */
  #keep<T>(key: string, make: () => T): T {
    if (!this.#kept.has(key)) this.#kept.set(key, make())
    return this.#kept.get(key) as T
  }

  #forgetIfChanged(): void {
    const { generation } = this.#options.source
    if (generation === this.#generation) return
    this.#generation = generation
    this.#kept.clear()
  }
}

function isRoot(name: string): boolean {
  return name === '/api' || name === '/apis'
}

function readPath(name: string): DiscoveryPath | undefined {
  const [first, prefix, ...rest] = name.split('/')
  if (first !== '' || rest.includes('')) return undefined
  if (prefix === 'api' && rest.length <= 1) return { group: '', version: rest[0] }
  if (prefix === 'apis' && rest.length <= 2) return { group: rest[0], version: rest[1] }
  return undefined
}

/** Discovery paths may end with one slash. */
function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

/** Documents of the core group have no apiVersion, so the envelope has none either; their messages are those of v1. */
function toProtobuf(document: KubeObject): Buffer {
  const { apiVersion = '', kind = '' } = document
  const known = findKind(apiVersion || 'v1', kind)
  if (known === undefined) throw new Error(`discovery made a document of an unknown kind: ${kind}`)
  const { bytes } = encodeMessage(known.message, document)
  return writeEnvelope(apiVersion, kind, (writer) => writer.bytes(bytes))
}
