/**
 * Documents about the API itself: discovery, OpenAPI, the version, the keys of tokens. They pass, are kept by path and by what
 * they are written in, and are given away again while the API server cannot be reached. They hold no objects, and by default
 * all who are authenticated may read them: whoever was not denied one that others were given gets it.
 */
import { BytesSource } from '../../http/body/bytes-source.ts'
import { MediaTypeError, parseMediaType } from '../../kube/media-type.ts'
import { type AcceptClause, parseAccept } from '../../kube/media-type-accept.ts'
import { ApiError } from '../../kube/status/status.ts'
import { uncompressed } from '../feeds/whole-body.ts'
import { tapAnswer } from '../upstream/tapped-answer.ts'
import type { HeaderPairs, UpstreamAnswer } from '../upstream/upstream.ts'
import { type ReadHead, speaksForAnother } from './reading.ts'

/** The OpenAPI document of all built-in resources has four. */
const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
/** All of them together; beyond, those that passed longest ago are forgotten. */
const MAX_DOCUMENTS_BYTES = 48 * 1024 * 1024
/** Paths and representations; a cluster has some hundred groups and versions. */
const MAX_DOCUMENTS = 2_048

const paths =
  /^\/(version\/?|api|apis)$|^\/(api|apis|openapi)\/|^\/\.well-known\/openid-configuration$|^\/openid\/v1\/jwks$/

export interface KeptDocument {
  readonly path: string
  readonly contentType: string
  readonly etag: string
  readonly body: Buffer
}

export interface DocumentsOptions {
  /** Hears of each that is new or other than before, to keep it, and of those that are forgotten. */
  readonly changed?: (key: string, document: KeptDocument | undefined) => void
}

/** The path, where the request is for such a document. */
export function documentPath({ method, info, headers }: ReadHead): string | undefined {
  if (method !== 'GET' || info?.kind !== 'non-resource' || speaksForAnother(headers)) return undefined
  return paths.test(info.path) ? info.path : undefined
}

export class Documents {
  readonly #options: DocumentsOptions
  /** Those that passed last stand last. */
  readonly #documents = new Map<string, KeptDocument>()
  #bytes = 0

  constructor(options: DocumentsOptions = {}) {
    this.#options = options
  }

  get size(): number {
    return this.#documents.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** From what an earlier life has kept. */
  restore(documents: Iterable<KeptDocument>): void {
    for (const document of documents) this.#put(document)
  }

  clear(): void {
    this.#documents.clear()
    this.#bytes = 0
  }

  /** The same answer, which will be kept if it is whole. */
  pass(path: string, answer: UpstreamAnswer): UpstreamAnswer {
    if (answer.status !== 200) return answer
    return tapAnswer(answer, MAX_DOCUMENT_BYTES, (bytes) => {
      if (bytes !== undefined) this.#keep(path, answer.headers, bytes).catch(() => {})
    })
  }

  /** What the client can read of it; undefined where there is nothing of that kind. */
  answer(path: string, { headers }: ReadHead, warning: string): UpstreamAnswer | undefined {
    const document = this.#find(path, headers.get('accept') ?? '*/*')
    if (document === undefined) return undefined
    const { contentType, etag, body } = document
    const common: HeaderPairs = [
      ['warning', warning],
      ['vary', 'Accept'],
      ...(etag === '' ? [] : ([['etag', etag]] as const)),
    ]
    const known = headers.all('if-none-match').flatMap((value) => value.split(',').map((each) => each.trim()))
    if (etag !== '' && known.includes(etag)) return local(304, common, Buffer.alloc(0))
    return local(200, [['content-type', contentType], ...common], body)
  }

  #find(path: string, accept: string): KeptDocument | undefined {
    const kept = [...this.#documents.values()].filter((document) => document.path === path)
    for (const clause of clausesOf(accept)) {
      const found = kept.find(({ contentType }) => isAcceptable(contentType, clause))
      if (found !== undefined) return found
    }
    return undefined
  }

  async #keep(path: string, headers: HeaderPairs, bytes: Buffer): Promise<void> {
    const header = (wanted: string): string => headers.find(([name]) => name === wanted)?.[1] ?? ''
    const body = await uncompressed(bytes, header('content-encoding'), MAX_DOCUMENT_BYTES)
    const document = { path, contentType: header('content-type'), etag: header('etag'), body }
    const key = keyOf(document)
    const known = this.#documents.get(key)
    this.#put(document)
    if (known === undefined || !known.body.equals(body) || known.etag !== document.etag)
      this.#options.changed?.(key, document)
  }

  #put(document: KeptDocument): void {
    const key = keyOf(document)
    this.#forget(key)
    this.#documents.set(key, document)
    this.#bytes += document.body.length
    for (const oldest of this.#documents.keys()) {
      if (this.#documents.size <= MAX_DOCUMENTS && this.#bytes <= MAX_DOCUMENTS_BYTES) return
      this.#forget(oldest)
      this.#options.changed?.(oldest, undefined)
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#documents.get(key)?.body.length ?? 0
    this.#documents.delete(key)
  }
}

function local(status: number, headers: HeaderPairs, body: Buffer): UpstreamAnswer {
  return { status, headers, body: new BytesSource(body), trailers: () => [], isLocal: true }
}

function keyOf({ path, contentType }: Pick<KeptDocument, 'path' | 'contentType'>): string {
  return `${path} ${contentType}`
}

function clausesOf(accept: string): AcceptClause[] {
  try {
    return [...parseAccept(accept)]
  } catch (error) {
    if (error instanceof ApiError) return []
    throw error
  }
}

/** A clause that asks for a certain document, by its parameters, gets no other; one that does not gets no such one. */
function isAcceptable(contentType: string, clause: AcceptClause): boolean {
  try {
    const { type, subtype, parameters } = parseMediaType(contentType)
    const isType = clause.type === '*' || clause.type === type
    const isSubtype = clause.subtype === '*' || clause.subtype === subtype
    const isSame = ['as', 'g', 'v'].every((name) => clause.parameters.get(name) === parameters.get(name))
    return isType && isSubtype && isSame
  } catch (error) {
    if (error instanceof MediaTypeError) return false
    throw error
  }
}
