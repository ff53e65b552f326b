/** Answers that are made on this node, from what the feeds have. */
import type { ByteSource } from '../../http/body/byte-source.ts'
import { BytesSource } from '../../http/body/bytes-source.ts'
import { piecesSource } from '../../http/body/pulled-source.ts'
import type { Cancellation } from '../../http/server/ending.ts'
import { formatContinueToken, parseContinueToken } from '../../kube/collection/continue-token.ts'
import type { ListMeta } from '../../kube/objects.ts'
import { isNotNewer } from '../../kube/reflector/versions.ts'
import { responseContentType } from '../../kube/representation.ts'
import { tooLargeResourceVersion } from '../../kube/status/availability-errors.ts'
import { resourceExpired } from '../../kube/status/request-errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { sortedSteps } from '../../runtime/sorting.ts'
import { inTurns, type Steps } from '../../runtime/steps.ts'
import { Turns, turnFor } from '../../runtime/turns.ts'
import type { CollectionScope } from '../feeds/collection-scope.ts'
import type { Feed } from '../feeds/feed.ts'
import type { KeptObject } from '../feeds/kept-object.ts'
import { listPieces, type Pieces } from '../feeds/list-pieces.ts'
import { type CollectionType, type Output, objectBody } from '../feeds/representing.ts'
import type { Selection } from '../feeds/selection.ts'
import type { HeaderPairs, UpstreamAnswer } from '../upstream/upstream.ts'
import type { CollectionRead, NamedObject, ObjectRead, Reading } from './reading.ts'

export function answerOf(body: ByteSource, contentType: string, warning?: string): UpstreamAnswer {
  const warnings: HeaderPairs = warning === undefined ? [] : [['warning', warning]]
  const headers: HeaderPairs = [['content-type', contentType], ['cache-control', 'no-cache, private'], ...warnings]
  return { status: 200, headers, body, trailers: () => [], isLocal: true }
}

export function outputOf({ output }: Reading, type: CollectionType, clock: Clock): Output {
  return { type, representation: output.representation, pretty: output.pretty, nowMs: clock.nowMs() }
}

/** One object. Throws an InexactError where it cannot be shown as it was asked for. */
export function objectAnswer(object: KeptObject, output: Output, warning?: string): UpstreamAnswer {
  const body = new BytesSource(objectBody(object, output))
  return answerOf(body, responseContentType(output.representation, { stream: false }), warning)
}

/** How a list is answered. */
export interface ListAnswerOptions {
  readonly selection: Selection
  readonly output: Output
  readonly clock: Clock
  /** Aborts when nobody wants the answer any more. */
  readonly signal: Cancellation
  readonly warning?: string
}

/** A list, or the page of one that was asked for. Rejects with an ApiError, or an InexactError. */
export async function listAnswer(
  feed: Feed,
  reading: CollectionRead,
  { selection, output, clock, signal, warning }: ListAnswerOptions,
): Promise<UpstreamAnswer> {
  // Many lists may be asked for in one breath.
  await turnFor(clock)
  checkVersion(feed, reading.options)
  // All of this moment: what changes while others have their turns is no part of it.
  const steps = listSteps([...feed.objects], feed.version, selection, reading, output)
  const pieces = await inTurns(whileWanted(steps, signal), new Turns(clock))
  return answerOf(piecesSource(pieces, clock), responseContentType(output.representation, { stream: false }), warning)
}

type Keyed = readonly [key: string, object: KeptObject]

function* listSteps(
  objects: readonly Keyed[],
  version: string,
  selection: Selection,
  reading: CollectionRead,
  output: Output,
): Steps<Pieces> {
  const selected: Keyed[] = []
  for (const entry of yield* inOrder(objects)) {
    if (selection(entry[1])) selected.push(entry)
    yield
  }
  const { page, metadata } = pageOf(selected, version, reading)
  return yield* listPieces(page, metadata, output)
}

function* whileWanted<Result>(steps: Steps<Result>, signal: Cancellation): Steps<Result> {
  for (;;) {
    if (signal.aborted) throw signal.reason
    const { done, value } = steps.next()
    if (done === true) return value
    yield
  }
}

/** What a watch begins with: all that there is now, in order; undefined where the next one takes another step. */
export function initialObjects(feed: Feed): Iterable<KeptObject | undefined> {
  return objectsInOrder([...feed.objects])
}

function* objectsInOrder(entries: readonly Keyed[]): Generator<KeptObject | undefined, void, void> {
  const steps = inOrder(entries)
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done !== true) yield undefined
    else return yield* step.value.map(([, object]) => object)
  }
}

/** As API servers list: by namespace, then by name. */
function inOrder(entries: readonly Keyed[]): Steps<readonly Keyed[]> {
  return sortedSteps(entries, ([a], [b]) => (a < b ? -1 : 1))
}

/** Throws an ApiError where what was asked for is newer than what is there, or is another version. */
export function checkVersion(
  { version }: Feed,
  { resourceVersion, resourceVersionMatch }: CollectionRead['options'],
): void {
  if (resourceVersion === '' || resourceVersion === '0' || resourceVersion === version) return
  if (!isNotNewer(resourceVersion, version)) throw tooLargeResourceVersion(resourceVersion, version)
  if (resourceVersionMatch === 'Exact')
    throw resourceExpired(`the resource version ${resourceVersion} is not kept here; there is ${version}`)
}

function pageOf(
  selected: readonly Keyed[],
  version: string,
  { options, scope }: CollectionRead,
): { page: KeptObject[]; metadata: ListMeta } {
  const { continueToken, resourceVersion } = options
  // What may be of any version an API server gives whole.
  const limit = resourceVersion === '0' ? 0 : options.limit
  const rest = continueToken === '' ? selected : restAfter(selected, version, continueToken, scope)
  const objects = rest.map(([, object]) => object)
  if (limit <= 0 || rest.length <= limit) return { page: objects, metadata: { resourceVersion: version } }
  const [last = ''] = rest[limit - 1] ?? []
  const next = formatContinueToken({ revision: Number(version), lastKey: last.slice(prefixOf(scope).length) })
  const metadata = { resourceVersion: version, continue: next, remainingItemCount: rest.length - limit }
  return { page: objects.slice(0, limit), metadata }
}

/** The pages of one list are all of one version: what was begun at the API server, or before a change, begins anew. */
function restAfter(
  selected: readonly Keyed[],
  version: string,
  token: string,
  scope: CollectionScope,
): readonly Keyed[] {
  const { revision, lastKey } = parseContinueToken(token)
  if (String(revision) !== version)
    throw resourceExpired(`the list that this continues is not kept here; there is one of version ${version}`)
  const last = `${prefixOf(scope)}${lastKey}`
  return selected.filter(([key]) => key > last)
}

/** Tokens name objects as an API server does, who may be asked for the next page: within the namespace that is listed. */
function prefixOf({ namespace }: CollectionScope): string {
  return namespace === '' ? '' : `${namespace}/`
}

/** What a client asks for by a read of one object. */
export function findObject(feed: Feed, { info }: ObjectRead): KeptObject | undefined {
  return feed.objects.get(objectKey(info))
}

/** What feeds have the object under that a request names. */
export function objectKey({ isInNamespace, namespace, name }: NamedObject): string {
  return isInNamespace ? `${namespace}/${name}` : name
}
