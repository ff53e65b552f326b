/**
 * The last token that the API server gave the kubelet for each pod, account and purpose. While the API server cannot be reached
 * a kubelet that asks for the same again is given the same again, so that its pods can start; nobody else is, and nothing is
 * made up: the answer says when the token really ends.
 */
import { hash } from 'node:crypto'
import { BytesSource } from '../../http/body/bytes-source.ts'
import { parseJson } from '../../kube/codec/json.ts'
import { decodeProtobuf } from '../../kube/codec/object-codec.ts'
import { documentFormat } from '../../kube/document-format.ts'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { serviceUnavailable } from '../../kube/status/availability-errors.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { BoundedMap } from '../../runtime/bounded-map.ts'
import { uncompressed } from '../feeds/whole-body.ts'
import { tapAnswer } from '../upstream/tapped-answer.ts'
import type { HeaderPairs, UpstreamAnswer } from '../upstream/upstream.ts'
import { speaksForAnother } from './reading.ts'
import type { ReplicaRequest } from './replica-request.ts'

/** A TokenRequest and its answer have a few kilobytes. */
const MAX_TOKEN_ANSWER_BYTES = 64 * 1024
/** Pods of a node times the tokens of each; beyond, those given longest ago are forgotten. */
const MAX_TOKEN_ANSWERS = 2_048

/** Go's client repeats ten times by itself what carries a Retry-After. */
const RETRY_SECONDS = 1

export interface TokenAnswer {
  /** Of what was asked for. */
  readonly key: string
  readonly contentType: string
  readonly body: Buffer
  /** Whom the token is bound to; empty where it is to nobody. */
  readonly podUid: string
}

export interface TokenAnswersOptions {
  /** Whether a pod of this uid is still there, as far as this node knows. */
  readonly isPodThere: (podUid: string) => boolean
  /** Hears of tokens that the API server has issued by way of this node. */
  readonly issued?: (token: string) => void
  readonly changed?: (key: string, answer: TokenAnswer | undefined) => void
}

/** The account and its namespace are in the path. */
export type AskedToken = ResourceRequest

/** Only from the node itself: whoever else asks has to wait. */
export function tokenRequestOf({ method, info, reader, query, headers }: ReplicaRequest): AskedToken | undefined {
  if (method !== 'POST' || info?.kind !== 'resource' || reader.kind !== 'node') return undefined
  if (query.first('dryRun') !== undefined || speaksForAnother(headers)) return undefined
  const isToken = info.apiGroup === '' && info.resource === 'serviceaccounts' && info.subresource === 'token'
  return isToken ? info : undefined
}

export class TokenAnswers {
  readonly #options: TokenAnswersOptions
  /** Those given last stand last. */
  readonly #answers = new BoundedMap<string, TokenAnswer>(MAX_TOKEN_ANSWERS, (key) =>
    this.#options.changed?.(key, undefined),
  )

  constructor(options: TokenAnswersOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#answers.size
  }

  restore(answers: Iterable<TokenAnswer>): void {
    for (const answer of answers) this.#answers.set(answer.key, answer)
  }

  clear(): void {
    this.#answers.clear()
  }

  async pass(asked: AskedToken, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const body = await request.readBody(MAX_TOKEN_ANSWER_BYTES)
    const spec = specOf(request, body)
    const answer = await request.up(body)
    if (answer.status !== 201 || spec === undefined) return answer
    return tapAnswer(answer, MAX_TOKEN_ANSWER_BYTES, (bytes) => {
      if (bytes !== undefined) this.#keep(asked, spec, answer.headers, bytes).catch(() => {})
    })
  }

  async answer(asked: AskedToken, request: ReplicaRequest): Promise<UpstreamAnswer> {
    const spec = specOf(request, await request.readBody(MAX_TOKEN_ANSWER_BYTES))
    const known = spec && this.#answers.get(keyOf(asked, spec, acceptOf(request)))
    if (known === undefined)
      throw serviceUnavailable(
        'this node is cut off from its API server, and no token like this was asked for before',
        RETRY_SECONDS,
      )
    if (known.podUid !== '' && !this.#options.isPodThere(known.podUid))
      throw serviceUnavailable(
        'this node is cut off from its API server, and the pod of this token is not known here',
        RETRY_SECONDS,
      )
    const headers: HeaderPairs = [['content-type', known.contentType]]
    return { status: 201, headers, body: new BytesSource(known.body), trailers: () => [], isLocal: true }
  }

  async #keep(asked: AskedToken, spec: TokenSpec, headers: HeaderPairs, bytes: Buffer): Promise<void> {
    const header = (wanted: string): string => headers.find(([name]) => name === wanted)?.[1] ?? ''
    const contentType = header('content-type')
    const body = await uncompressed(bytes, header('content-encoding'), MAX_TOKEN_ANSWER_BYTES)
    const encoding = documentFormat(contentType)?.encoding
    const given = encoding && read(encoding, body)
    const token = (given?.['status'] as { token?: unknown } | undefined)?.token
    if (encoding === undefined || typeof token !== 'string') return
    this.#options.issued?.(token)
    const key = keyOf(asked, spec, encoding)
    const answer = { key, contentType, body, podUid: spec.podUid }
    this.#answers.set(key, answer)
    this.#options.changed?.(key, answer)
  }
}

/** What makes two requests for a token the same. */
interface TokenSpec {
  readonly text: string
  readonly podUid: string
}

function specOf({ headers }: ReplicaRequest, body: Buffer): TokenSpec | undefined {
  const encoding = documentFormat(headers.get('content-type') ?? 'application/json')?.encoding
  const spec = encoding && (read(encoding, body)?.['spec'] as Partial<Spec> | null | undefined)
  if (spec === undefined || spec === null || typeof spec !== 'object') return undefined
  const { audiences, expirationSeconds, boundObjectRef: bound } = spec
  const plain = [
    expirationSeconds,
    bound?.kind,
    bound?.name,
    bound?.uid,
    ...(Array.isArray(audiences) ? audiences : []),
  ]
  // The API server refuses such, or makes something else of it.
  if (plain.some((each) => typeof each === 'object' && each !== null)) return undefined
  const parts = [audiences ?? [], expirationSeconds ?? '', bound?.kind, bound?.name, bound?.uid]
  // Numbers are bigints where they came in protobuf, or are too large for others.
  const text = JSON.stringify(parts, (_key, value: unknown) =>
    typeof value === 'bigint' || typeof value === 'number' ? String(value) : value,
  )
  return { text, podUid: bound?.kind === 'Pod' && typeof bound.uid === 'string' ? bound.uid : '' }
}

/** What a client has sent: each of these may be anything. */
interface Spec {
  readonly audiences: unknown
  readonly expirationSeconds: unknown
  readonly boundObjectRef: { readonly kind?: unknown; readonly name?: unknown; readonly uid?: unknown } | null
}

function read(encoding: 'json' | 'protobuf', bytes: Buffer): Record<string, unknown> | undefined {
  try {
    return encoding === 'protobuf'
      ? decodeProtobuf(bytes).object
      : (parseJson(bytes.toString('utf8')) as Record<string, unknown>)
  } catch (error) {
    if (error instanceof WireError || error instanceof SyntaxError) return undefined
    throw error
  }
}

function acceptOf({ headers }: ReplicaRequest): 'json' | 'protobuf' {
  return (headers.get('accept') ?? '').includes('protobuf') ? 'protobuf' : 'json'
}

function keyOf({ namespace, name }: AskedToken, { text }: TokenSpec, encoding: string): string {
  return hash('sha256', JSON.stringify([namespace, name, text, encoding]), 'base64url')
}
