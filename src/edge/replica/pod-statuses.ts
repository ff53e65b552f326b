/**
 * What the kubelet writes about its pods. While the API server cannot be reached such a write is refused like every other, but
 * what it says counts on this node: see `src/edge/local-pods`. Only the node's own certificate is believed.
 */
import { parseJson } from '../../kube/codec/json.ts'
import { decodeProtobuf } from '../../kube/codec/object-codec.ts'
import { documentFormat } from '../../kube/document-format.ts'
import type { JsonObject } from '../../kube/patch/json-value.ts'
import { MAX_PATCH_BYTES } from '../../kube/patch/limits.ts'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { ApiError } from '../../kube/status/status.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import { uncompressed } from '../feeds/whole-body.ts'
import { type LocalPod, localPodOf } from '../local-pods/local-pod.ts'
import type { LocalPods } from '../local-pods/local-pods.ts'
import type { LocalPodsMetrics, ReportOutcome } from '../local-pods/local-pods-metrics.ts'
import { readReport, reportingKind } from '../local-pods/pod-report.ts'
import { tapAnswer } from '../upstream/tapped-answer.ts'
import { type HeaderPairs, type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import { speaksForAnother } from './reading.ts'
import type { ReplicaRequest } from './replica-request.ts'

/** An API server writes no larger object. */
const MAX_STATUS_ANSWER_BYTES = 2 * 1024 * 1024

/** When a kubelet goes through the statuses that it could not write, and writes them anew. */
const KUBELET_STATUS_MS = 10_000

export type PodName = Pick<ResourceRequest, 'namespace' | 'name'>

export interface PodStatusesOptions {
  readonly node: string
  readonly localPods: LocalPods
  readonly metrics: LocalPodsMetrics
  /** The Pod as the kubelet could read it here. */
  readonly served: (pod: PodName) => JsonObject | undefined
  /** Why the API server cannot be reached. */
  readonly whyOffline: () => string
  readonly clock: Clock
}

export interface StatusWays {
  online(): Promise<UpstreamAnswer>
  offline(failure?: UpstreamError): Promise<never>
}

/** Undefined for all that is not the node's own word about the state of a pod. */
export function podStatusOf({ method, info, query, headers, reader }: ReplicaRequest): PodName | undefined {
  if (method !== 'PATCH' || info?.kind !== 'resource' || reader.kind !== 'node') return undefined
  const isPod = info.apiGroup === '' && info.apiVersion === 'v1' && info.resource === 'pods' && info.name !== ''
  const isStatus = isPod && info.subresource === 'status' && info.parts.length === 3
  // One that is only tried out would have had no effect.
  return isStatus && !query.has('dryRun') && !speaksForAnother(headers) ? info : undefined
}

export class PodStatuses {
  readonly #options: PodStatusesOptions

  constructor(options: PodStatusesOptions) {
    this.#options = options
  }

  /** One patch on its two ways; offline it always throws. */
  ways(pod: PodName, request: ReplicaRequest): StatusWays {
    let learning: Promise<void> | undefined
    return {
      online: () => this.#pass(request),
      offline: async (failure) => {
        learning ??= this.#learn(pod, request)
        await learning
        throw this.#refusal(failure)
      },
    }
  }

  /** The API server's own answer; where it has taken a status, nothing else needs to be shown of that pod for long. */
  async #pass(request: ReplicaRequest): Promise<UpstreamAnswer> {
    const { localPods } = this.#options
    const answer = await request.up(await request.readBody(MAX_PATCH_BYTES))
    if (answer.status !== 200 || localPods.size === 0) return answer
    return tapAnswer(answer, MAX_STATUS_ANSWER_BYTES, (bytes) => {
      if (bytes === undefined) return
      void podIn(answer.headers, bytes)
        .then((pod) => pod && localPods.agreed(pod))
        .catch(() => {})
    })
  }

  /**
   * A kubelet writes one status after the other; if its client repeated each for as long as it repeats what has a Retry-After in
   * seconds, the last pod would be heard of minutes late.
   */
  #refusal(failure: UpstreamError | undefined): UpstreamError {
    const { whyOffline, clock } = this.#options
    // The API server may have got it.
    if (failure?.kind === 'broken') return failure
    return new UpstreamError('offline', whyOffline(), { retryAtMs: clock.nowMs() + KUBELET_STATUS_MS })
  }

  async #learn(pod: PodName, request: ReplicaRequest): Promise<void> {
    const outcome = await this.#take(pod, request)
    if (outcome !== undefined) this.#options.metrics.reported(outcome)
  }

  async #take(name: PodName, request: ReplicaRequest): Promise<ReportOutcome | undefined> {
    const { node, localPods, served } = this.#options
    const kind = reportingKind(request.headers.get('content-type') ?? '')
    const body = kind && (await bodyOf(request))
    if (kind === undefined || body === undefined) return undefined
    const pod = served(name)
    if (pod === undefined) return 'unknown'
    const report = readReport(pod, { kind, body }, node)
    if (typeof report === 'string') return report
    localPods.tell(report)
    return 'taken'
  }
}

/** Undefined for one that is too large to be a status. */
async function bodyOf(request: ReplicaRequest): Promise<Buffer | undefined> {
  try {
    return await request.readBody(MAX_PATCH_BYTES)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

async function podIn(headers: HeaderPairs, bytes: Buffer): Promise<LocalPod | undefined> {
  const header = (wanted: string): string => headers.find(([name]) => name === wanted)?.[1] ?? ''
  const body = await uncompressed(bytes, header('content-encoding'), MAX_STATUS_ANSWER_BYTES)
  const encoding = documentFormat(header('content-type'))?.encoding
  if (encoding === undefined) return undefined
  try {
    const value = encoding === 'protobuf' ? decodeProtobuf(body).object : parseJson(body.toString('utf8'))
    return localPodOf(value as JsonObject)
  } catch (error) {
    if (error instanceof WireError) return undefined
    throw error
  }
}
