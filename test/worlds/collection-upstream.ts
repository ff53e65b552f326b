/**
 * An API server with one collection of ConfigMaps, as an `Upstream`, whose link and history a test takes away and gives back.
 * Its lists and watches follow the rules of the real one as far as clients can see them.
 */
import { PassThrough, Readable } from 'node:stream'
import {
  type HeaderPairs,
  type UpstreamAnswer,
  UpstreamError,
  type UpstreamRequest,
} from '../../src/edge/upstream/upstream.ts'
import { printJson } from '../../src/kube/codec/json.ts'
import { encodeProtobuf } from '../../src/kube/codec/object-codec.ts'
import { DOCUMENT_FORMATS, type DocumentFormat } from '../../src/kube/document-format.ts'
import type { KubeObject, WatchEventType } from '../../src/kube/objects.ts'
import { parseQuery, type RequestQuery } from '../../src/kube/request-query.ts'
import { sourceOf } from './byte-sources.ts'

interface Event {
  readonly revision: number
  readonly type: WatchEventType
  readonly object: KubeObject
}

interface OpenWatch {
  readonly body: PassThrough
  readonly format: DocumentFormat
  readonly token: string
}

export class CollectionUpstream {
  readonly status = { pools: [], upgrades: 0 }
  readonly requests: UpstreamRequest[] = []
  readonly objects = new Map<string, KubeObject>()
  /** Tokens that may read; null for all. */
  allowed: Set<string> | null = null
  /** Whether requests get through. */
  isUp = true
  revision = 100
  #compacted = 0
  #uids = 0
  #history: Event[] = []
  readonly #watches = new Set<OpenWatch>()

  get openWatches(): number {
    return this.#watches.size
  }

  /** The token of each open watch. */
  get sponsors(): string[] {
    return [...this.#watches].map(({ token }) => token)
  }

  put(name: string, value: string, labels: Record<string, string> = {}): void {
    const known = this.objects.get(name)
    this.revision += 1
    const uid = known?.metadata?.uid ?? this.#nextUid()
    const metadata = { name, namespace: 'default', uid, resourceVersion: String(this.revision), labels }
    const object: KubeObject = { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { value } }
    this.objects.set(name, object)
    this.#happened(known === undefined ? 'ADDED' : 'MODIFIED', object)
  }

  delete(name: string): void {
    const known = this.objects.get(name)
    if (known === undefined) return
    this.revision += 1
    this.objects.delete(name)
    this.#happened('DELETED', { ...known, metadata: { ...known.metadata, resourceVersion: String(this.revision) } })
  }

  /** Something else in the cluster has changed. */
  touchElsewhere(): void {
    this.revision += 1
  }

  bookmark(): void {
    for (const watch of this.#watches) this.#send(watch, 'BOOKMARK', bookmarkAt(this.revision))
  }

  /** The history up to now is forgotten. */
  compact(): void {
    this.#compacted = this.revision
    this.#history = []
  }

  /** Tells all watches of an object that nobody can read. */
  sayNonsense(): void {
    for (const { body, format } of this.#watches)
      body.write(format.encodeFrame(format.walker.writeEvent('ADDED', Buffer.from('nonsense'))))
  }

  /** All watches end in good order. */
  endWatches(): void {
    for (const { body } of this.#watches) body.end()
    this.#watches.clear()
  }

  breakWatches(): void {
    for (const { body } of this.#watches) body.destroy(new UpstreamError('broken', 'the connection is gone'))
    this.#watches.clear()
  }

  cut(): void {
    this.isUp = false
    this.breakWatches()
  }

  /** As after a restore of etcd from a backup. */
  setBack(revision: number, objects: Iterable<KubeObject>): void {
    this.breakWatches()
    this.objects.clear()
    for (const object of objects) this.objects.set(object.metadata?.name ?? '', object)
    this.revision = revision
    this.compact()
  }

  async request(request: UpstreamRequest): Promise<UpstreamAnswer> {
    this.requests.push(request)
    await Promise.resolve()
    if (!this.isUp) throw new UpstreamError('offline', 'there is no link')
    const token = tokenOf(request.headers)
    if (this.allowed !== null && !this.allowed.has(token)) return statusAnswer(403, 'Forbidden')
    const query = parseQuery(request.target.split('?')[1] ?? '')
    const accept = request.headers.find(([name]) => name === 'accept')?.[1] ?? ''
    const format = DOCUMENT_FORMATS[accept.includes('protobuf') ? 'protobuf' : 'json']
    return query.isSet('watch') ? this.#watch(query, format, token, request) : this.#list(query, format)
  }

  #list(query: RequestQuery, format: DocumentFormat): UpstreamAnswer {
    const wanted = Number(query.first('resourceVersion') ?? '0')
    if (wanted > this.revision)
      return statusAnswer(504, 'Timeout', 'Too large resource version', 'ResourceVersionTooLarge')
    const items = [...this.objects.values()].map(({ kind: _kind, apiVersion: _version, ...rest }) => rest)
    const list = {
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(this.revision) },
      items,
    }
    return answerOf(200, contentType(format), Readable.from([encode(list, format)]))
  }

  #watch(query: RequestQuery, format: DocumentFormat, token: string, { signal }: UpstreamRequest): UpstreamAnswer {
    const from = Number(query.first('resourceVersion') ?? '0')
    const body = new PassThrough()
    const watch: OpenWatch = { body, format, token }
    body.on('error', () => {})
    body.on('close', () => this.#watches.delete(watch))
    signal.addEventListener('abort', () => body.destroy(new Error('nobody wants it any more')), { once: true })
    this.#watches.add(watch)
    if (query.isSet('sendInitialEvents')) {
      for (const object of this.objects.values()) this.#send(watch, 'ADDED', object)
      this.#send(watch, 'BOOKMARK', bookmarkAt(this.revision, true))
    } else if (from < this.#compacted) {
      this.#send(watch, 'ERROR', expired)
      body.end()
    } else {
      for (const { revision, type, object } of this.#history) if (revision > from) this.#send(watch, type, object)
    }
    return answerOf(200, contentType(format), body)
  }

  #nextUid(): string {
    this.#uids += 1
    return `uid-${this.#uids}`
  }

  #happened(type: WatchEventType, object: KubeObject): void {
    this.#history.push({ revision: this.revision, type, object })
    for (const watch of this.#watches) this.#send(watch, type, object)
  }

  #send({ body, format }: OpenWatch, type: WatchEventType, object: KubeObject): void {
    body.write(format.encodeFrame(format.walker.writeEvent(type, encode(object, format))))
  }
}

const expired = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'too old resource version',
  reason: 'Expired',
  code: 410,
} as KubeObject

function bookmarkAt(revision: number, isInitialEnd = false): KubeObject {
  const annotations = isInitialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: String(revision), ...annotations } }
}

function encode(object: KubeObject, { encoding }: DocumentFormat): Buffer {
  return encoding === 'protobuf' ? encodeProtobuf(object).bytes : Buffer.from(printJson(object))
}

function contentType({ encoding }: DocumentFormat): string {
  return encoding === 'protobuf' ? 'application/vnd.kubernetes.protobuf' : 'application/json'
}

function tokenOf(headers: HeaderPairs): string {
  return headers.find(([name]) => name === 'authorization')?.[1].replace('Bearer ', '') ?? ''
}

function statusAnswer(code: number, reason: string, message = reason, cause = ''): UpstreamAnswer {
  const details = cause === '' ? {} : { details: { causes: [{ reason: cause, message }] } }
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code,
    ...details,
  }
  return answerOf(code, 'application/json', Readable.from([Buffer.from(JSON.stringify(status))]))
}

function answerOf(status: number, type: string, body: Readable): UpstreamAnswer {
  return { status, headers: [['content-type', type]], body: sourceOf(body), trailers: () => [] }
}
