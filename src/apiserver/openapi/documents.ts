/**
 * Answers `/openapi/v3` and everything below it, and `/openapi/v2`. The addresses in the root carry the hash of the document they lead to, so
 * that clients keep documents for ever: a hash must change with the bytes, and is therefore taken over the bytes. All
 * built-in documents together take about a tenth of a second to make; `ready` does it in as many turns, and elsewhere.
 */
import { createHash } from 'node:crypto'
import { parseAccept } from '../../kube/media-type-accept.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Turns } from '../../runtime/turns.ts'
import type { OpenApiPart, OpenApiSource } from './source.ts'
import { type SwaggerForm, swaggerBytes } from './swagger/swagger-bytes.ts'

const OPENAPI_ROOT = '/openapi/v3'
const swaggerPath = '/openapi/v2'
/** How long a client may keep a document that it asked for by its hash. */
const IMMUTABLE_LIFE_MS = 365 * 24 * 3600 * 1000

export interface OpenApiRequest {
  readonly accept?: string | undefined
  /** The `hash` query parameter. */
  readonly hash?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

export interface OpenApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

interface Made {
  readonly bytes: Buffer
  readonly hash: string
}

/** What `swaggerBytes` does, where it keeps nobody waiting. */
export type MakeSwagger = (documents: readonly Uint8Array[], form: SwaggerForm) => Promise<Buffer>

const noBody = Buffer.alloc(0)
const jsonType = 'application/json'
const swaggerProtobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
/** The first name breaks the grammar of media types; clients still ask for it. */
const swaggerProtobufSubtypes = [
  'com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'com.github.proto-openapi.spec.v2.v1.0+protobuf',
]

export class OpenApiDocuments {
  readonly #source: OpenApiSource
  readonly #clock: Clock
  /** By part: what a replaced part left behind goes with it. */
  readonly #made = new WeakMap<OpenApiPart, Made>()
  #root: { generation: number; made: Made } | undefined
  #swagger: { generation: number; made: Map<SwaggerForm, Made> } = { generation: -1, made: new Map() }

  constructor(source: OpenApiSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /** Undefined for all other paths. */
  openApiDocument(path: string, request: OpenApiRequest): OpenApiResponse | undefined {
    if (path === swaggerPath) return this.#swaggerResponse(request)
    if (path === OPENAPI_ROOT) return this.#respond(this.#rootDocument(), request, {})
    if (!path.startsWith(`${OPENAPI_ROOT}/`)) return undefined
    const name = path.slice(OPENAPI_ROOT.length + 1)
    const part = this.#partNamed(name)
    if (part === undefined) return { status: 404, headers: {}, body: noBody }
    const made = this.#documentOf(part)
    const { hash = '' } = request
    if (hash === '') return this.#respond(made, request, {})
    if (hash !== made.hash) return redirect(name, made)
    return this.#respond(made, request, this.#immutable())
  }

  /** Makes all documents, one in each turn of the event loop, so that nobody waits for more than one of them. */
  async prepare(signal: AbortSignal): Promise<void> {
    const turns = new Turns(this.#clock)
    for (const part of [...this.#source.parts()]) {
      if (signal.aborted) return
      if (this.#made.has(part)) continue
      this.#documentOf(part)
      await turns.next()
    }
  }

  /** Makes whatever takes long of the answer to this request. */
  async ready(path: string, request: OpenApiRequest, signal: AbortSignal, makeSwagger: MakeSwagger): Promise<void> {
    if (path !== swaggerPath && path !== OPENAPI_ROOT) return
    await this.prepare(signal)
    const form = swaggerFormOf(request)
    if (signal.aborted || path !== swaggerPath || this.#keptSwagger().has(form)) return
    const kept = this.#keptSwagger()
    const made = hashed(await makeSwagger(this.#documents(), form))
    kept.set(form, made)
  }

  #respond(made: Made, { accept, ifNoneMatch }: OpenApiRequest, caching: Record<string, string>): OpenApiResponse {
    if (!acceptsJson(accept)) return { status: 406, headers: { vary: 'Accept' }, body: noBody }
    const headers = { ...caching, etag: `"${made.hash}"`, vary: 'Accept' }
    if (matches(ifNoneMatch, headers.etag)) return { status: 304, headers, body: noBody }
    return { status: 200, headers: { ...headers, 'content-type': jsonType }, body: made.bytes }
  }

  #swaggerResponse(request: OpenApiRequest): OpenApiResponse {
    if (swaggerFormOf(request) === 'json') return this.#respond(this.#swaggerIn('json'), request, {})
    const answer = this.#respond(this.#swaggerIn('protobuf'), { ...request, accept: '' }, {})
    return { ...answer, headers: { ...answer.headers, 'content-type': swaggerProtobufType } }
  }

  /** Made when somebody asks for it: few do, and it takes as long as all documents of v3 together. */
  #swaggerIn(form: SwaggerForm): Made {
    const kept = this.#keptSwagger()
    let made = kept.get(form)
    if (made === undefined) {
      made = hashed(swaggerBytes(this.#documents(), form))
      kept.set(form, made)
    }
    return made
  }

  #keptSwagger(): Map<SwaggerForm, Made> {
    const { generation } = this.#source
    if (this.#swagger.generation !== generation) this.#swagger = { generation, made: new Map() }
    return this.#swagger.made
  }

  #documents(): Buffer[] {
    return [...this.#source.parts()].map((part) => this.#documentOf(part).bytes)
  }

  #immutable(): Record<string, string> {
    const expires = new Date(this.#clock.nowMs() + IMMUTABLE_LIFE_MS).toUTCString()
    return { 'cache-control': 'public, immutable', expires }
  }

  #rootDocument(): Made {
    const { generation } = this.#source
    if (this.#root?.generation !== generation) this.#root = { generation, made: finish({ paths: this.#addresses() }) }
    return this.#root.made
  }

  #addresses(): object {
    const parts = [...this.#source.parts()].sort((a, b) => (a.name < b.name ? -1 : 1))
    return Object.fromEntries(
      parts.map((part) => [part.name, { serverRelativeURL: addressOf(part.name, this.#documentOf(part)) }]),
    )
  }

  #partNamed(name: string): OpenApiPart | undefined {
    for (const part of this.#source.parts()) if (part.name === name) return part
    return undefined
  }

  #documentOf(part: OpenApiPart): Made {
    let made = this.#made.get(part)
    if (made === undefined) {
      made = finish(part.make())
      this.#made.set(part, made)
    }
    return made
  }
}

/** Whoever takes both gets the one that is named first. */
function swaggerFormOf({ accept = '' }: OpenApiRequest): SwaggerForm {
  const wanted = parseAccept(accept).find(({ subtype }) => ['*', 'json', ...swaggerProtobufSubtypes].includes(subtype))
  return swaggerProtobufSubtypes.includes(wanted?.subtype ?? '') ? 'protobuf' : 'json'
}

function finish(document: object): Made {
  return hashed(Buffer.from(JSON.stringify(document)))
}

function hashed(bytes: Buffer): Made {
  return { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() }
}

function addressOf(name: string, { hash }: Made): string {
  return `${OPENAPI_ROOT}/${name}?hash=${hash}`
}

function redirect(name: string, made: Made): OpenApiResponse {
  const headers = { location: addressOf(name, made), etag: `"${made.hash}"`, vary: 'Accept' }
  return { status: 301, headers, body: noBody }
}

/** Documents exist as JSON only. Clients that would rather have protobuf all name JSON as well, or get a 406. */
function acceptsJson(accept = ''): boolean {
  if (accept === '') return true
  return parseAccept(accept).some(
    ({ type, subtype }) =>
      (type === '*' && subtype === '*') || (type === 'application' && ['*', 'json'].includes(subtype)),
  )
}

function matches(ifNoneMatch = '', etag: string): boolean {
  return ifNoneMatch.split(',').some((candidate) => ['*', etag, `W/${etag}`].includes(candidate.trim()))
}
