/**
 * An API server of pods, of what names them and of two custom resources, as an `Upstream` behind a link that a test cuts and
 * restores: lists, gets, watches, patches of pod statuses and reviews, all of which it grants.
 */
import { PassThrough, Readable } from 'node:stream'
import { pino } from 'pino'
import { type ComposeReplicaOptions, composeReplica, type EdgeReplica } from '../../src/edge/compose-replica.ts'
import {
  type Upstream,
  type UpstreamAnswer,
  UpstreamError,
  type UpstreamRequest,
} from '../../src/edge/upstream/upstream.ts'
import { readBody } from '../../src/http/body/request-body.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import type { JsonObject } from '../../src/kube/patch/json-value.ts'
import { applyPatch } from '../../src/kube/patch/patch.ts'
import { parseQuery } from '../../src/kube/request-query.ts'
import { findKind } from '../../src/kube/schema/schema.ts'
import { sourceOf } from './byte-sources.ts'

interface Collection {
  readonly kind: string
  readonly apiVersion: string
  readonly listKind: string
  readonly objects: Map<string, KubeObject>
  readonly watches: Set<PassThrough>
}

const json = [['content-type', 'application/json']] as const

export class NodeCluster implements Upstream {
  readonly status = { pools: [], upgrades: 0 }
  readonly patches: string[] = []
  revision = 100
  readonly #listeners = new Set<() => void>()
  readonly #collections: Readonly<Record<string, Collection>> = {
    pods: collection('Pod', 'v1'),
    services: collection('Service', 'v1'),
    endpoints: collection('Endpoints', 'v1'),
    endpointslices: collection('EndpointSlice', 'discovery.k8s.io/v1'),
    gadgets: collection('Gadget', 'example.com/v1', 'Toolbox'),
    readings: collection('Reading', 'metrics.example.com/v1'),
  }
  readonly link = {
    isUp: true,
    refusal: undefined,
    whyDown: 'the cable is cut',
    shortestRttMs: 1,
    onChange: (listener: () => void) => {
      this.#listeners.add(listener)
      return () => this.#listeners.delete(listener)
    },
  }

  put(resource: string, object: KubeObject): void {
    const { objects, watches } = this.#collection(resource)
    this.revision += 1
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.revision) } }
    const name = object.metadata?.name ?? ''
    const type = objects.has(name) ? 'MODIFIED' : 'ADDED'
    objects.set(name, stored)
    for (const watch of watches) watch.write(`${JSON.stringify({ type, object: stored })}\n`)
  }

  get(resource: string, name: string): KubeObject {
    const found = this.#collection(resource).objects.get(name)
    if (found === undefined) throw new Error(`there is no ${name}`)
    return found
  }

  openWatches(resource: string): number {
    return this.#collection(resource).watches.size
  }

  cut(): void {
    this.#setLink(false)
    for (const { watches } of Object.values(this.#collections))
      for (const watch of watches) watch.destroy(new UpstreamError('broken', 'the cable is cut'))
  }

  restore(): void {
    this.#setLink(true)
  }

  async request(request: UpstreamRequest): Promise<UpstreamAnswer> {
    if (!this.link.isUp) throw new UpstreamError('offline', 'the cable is cut')
    const [path = '', search = ''] = request.target.split('?')
    const body = request.body === undefined ? Buffer.alloc(0) : await readBody(request.body, undefined, 1_000_000)
    if (path === '/readyz') return answer(200, 'ok')
    if (path.endsWith('reviews')) return answer(201, reviewed(path, body))
    const [, resource = '', name, subresource] =
      /\/(pods|services|endpoints|endpointslices|gadgets|readings)(?:\/([^/]+))?(\/status)?$/.exec(path) ?? []
    if (subresource !== undefined) return this.#patch(name ?? '', body)
    const query = parseQuery(search)
    if (query.isSet('watch')) return this.#watch(resource, query.isSet('sendInitialEvents'), request)
    if (name !== undefined) return answer(200, JSON.stringify(this.get(resource, name)))
    const { listKind, apiVersion, objects } = this.#collection(resource)
    const metadata = { resourceVersion: String(this.revision) }
    return answer(200, JSON.stringify({ kind: listKind, apiVersion, metadata, items: [...objects.values()] }))
  }

  upgrade(): Promise<never> {
    return Promise.reject(new Error('no upgrades here'))
  }

  #watch(resource: string, hasInitial: boolean, { signal }: UpstreamRequest): UpstreamAnswer {
    const { kind, apiVersion, objects, watches } = this.#collection(resource)
    const body = new PassThrough()
    body.on('error', () => {})
    body.on('close', () => watches.delete(body))
    signal.addEventListener('abort', () => body.destroy(new Error('nobody wants it any more')), { once: true })
    watches.add(body)
    if (hasInitial) {
      const annotations = { 'k8s.io/initial-events-end': 'true' }
      const bookmark = { kind, apiVersion, metadata: { resourceVersion: String(this.revision), annotations } }
      for (const object of objects.values()) body.write(`${JSON.stringify({ type: 'ADDED', object })}\n`)
      body.write(`${JSON.stringify({ type: 'BOOKMARK', object: bookmark })}\n`)
    }
    return { status: 200, headers: json, body: sourceOf(body), trailers: () => [] }
  }

  #patch(name: string, patch: Buffer): UpstreamAnswer {
    this.patches.push(name)
    const object = this.get('pods', name) as JsonObject
    this.put('pods', applyPatch({ type: 'strategic', patch, object, message: findKind('v1', 'Pod')?.message }))
    return answer(200, JSON.stringify(this.get('pods', name)))
  }

  #collection(resource: string): Collection {
    const found = this.#collections[resource]
    if (found === undefined) throw new Error(`no ${resource} here`)
    return found
  }

  #setLink(isUp: boolean): void {
    this.link.isUp = isUp
    for (const listener of this.#listeners) listener()
  }
}

/** The replica of an edge at that cluster, which takes nobody for kube-proxy. */
export function replicaAt(
  cluster: NodeCluster,
  options: Pick<ComposeReplicaOptions, 'node' | 'dataDir' | 'clock' | 'net' | 'registry'>,
): EdgeReplica {
  return composeReplica({
    ...options,
    upstream: cluster,
    links: cluster.link,
    client: { localGroupVersions: () => Promise.resolve([]) },
    hasNodePair: () => true,
    kubeProxyToken: () => undefined,
    isKubeProxy: () => false,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
  })
}

function collection(kind: string, apiVersion: string, listKind = `${kind}List`): Collection {
  return { kind, apiVersion, listKind, objects: new Map(), watches: new Set() }
}

/** A token is the name of its account. */
function reviewed(path: string, review: Buffer): string {
  if (!path.endsWith('tokenreviews')) return JSON.stringify({ status: { allowed: true } })
  const { token } = (JSON.parse(review.toString()) as { spec: { token: string } }).spec
  const user = { username: `system:serviceaccount:default:${token}`, uid: `u-${token}`, groups: [] }
  return JSON.stringify({ status: { authenticated: true, user } })
}

function answer(status: number, body: string): UpstreamAnswer {
  return { status, headers: json, body: sourceOf(Readable.from([Buffer.from(body)])), trailers: () => [] }
}
