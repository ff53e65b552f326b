/** `pods/eviction`: a delete that asks the pod's disruption budget first. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { ResourceRequest } from '../../../kube/request-info.ts'
import { invalidField } from '../../../kube/status/field-error.ts'
import { isConflict } from '../../../kube/status/predicates.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { conflict, invalid, notFound } from '../../../kube/status/resource-errors.ts'
import { ApiError, successStatus } from '../../../kube/status/status.ts'
import { Turns } from '../../../runtime/turns.ts'
import { flag, struct, text, texts } from '../../kinds/fields.ts'
import { selectorMatches } from '../../kinds/label-selector.ts'
import { readQuestion } from '../../objects/decode-body.ts'
import { builtIn, collectionPrefix, keyOf } from '../../objects/resource.ts'
import { readDryRun } from '../../objects/write-options.ts'
import type { RequestContext } from '../../request/handler.ts'
import { type DeleteOptions, deleteObject } from '../write/delete.ts'
import { type WriteRequest, writeRequestOf } from '../write/write-request.ts'
import type { Writer } from '../write/writer.ts'
import { Answer } from './answer.ts'
import { findCondition, setCondition } from './conditions.ts'
import { budgetNotProcessed, checkBudget, sparesUnhealthyPods, takeDisruption } from './disruption-budget.ts'
import type { SubresourceParts } from './parts.ts'
import { checkSameNamespace, kindOf } from './places.ts'
import { changeStored } from './stored-change.ts'

const evictionKind = { ...kindOf('policy/v1', 'Eviction'), alsoAccepts: ['policy/v1beta1'] }
const pods = builtIn('v1', 'pods')
const budgets = builtIn('policy/v1', 'poddisruptionbudgets')

/** How often a pod may change between the look at it and its deletion. */
const maxTries = 10

/** No status of its own in the API server either: neither success nor an error that a client could tell from others. */
const severalBudgets = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  code: 500,
}

export async function serveEviction(
  { writer, clock }: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
): Promise<void> {
  const answer = Answer.forObject(context, clock.nowMs())
  const eviction = await readQuestion(context, evictionKind)
  checkEviction(eviction, info)
  const options = (struct(eviction, 'deleteOptions') ?? {}) as DeleteOptions
  const base = writeRequestOf(context, pods)
  const dryRun = readDryRun(texts(struct(eviction, 'deleteOptions'), 'dryRun'), 'DeleteOptions') || base.dryRun
  const request = { ...base, dryRun }
  const admission = writer.admissionRequest(request, 'CREATE', eviction, undefined)
  await writer.parts.admission.admit(admission)
  await writer.parts.admission.validate(admission)
  const outcome = await evict(writer, request, options).catch(refusedByBudget)
  if (outcome instanceof ApiError) await answer.sendStatus(outcome.code, outcome.status)
  else if (outcome === 'several-budgets') await answer.sendStatus(500, severalBudgets)
  else await answer.sendStatus(201, { ...successStatus(), code: 201 })
}

/**
 * A refusal without a time to wait for must not get a Retry-After header, as other errors of its code do: clients would
 * try again by themselves, and whoever drains a node would not hear why it does not get on.
 */
function refusedByBudget(error: unknown): ApiError {
  if (error instanceof ApiError && error.code === 429 && error.retryAfterSeconds === undefined) return error
  throw error
}

function checkEviction(eviction: KubeObject, info: ResourceRequest): void {
  const { name = '', namespace = '' } = eviction.metadata ?? {}
  checkSameNamespace(namespace, info.namespace)
  if (name !== info.name) throw badRequest('name in URL does not match name in Eviction object')
  const unsafe = 'ignoreStoreReadErrorWithClusterBreakingPotential'
  if (!flag(struct(eviction, 'deleteOptions'), unsafe)) return
  const detail = 'can not be set for pod eviction, try after removing the option'
  const group = { group: 'policy', kind: 'Eviction' }
  throw invalid(group, name, [invalidField(`deleteOptions.${unsafe}`, true, detail)])
}

async function evict(writer: Writer, request: WriteRequest, options: DeleteOptions) {
  const isVersionGiven = options.preconditions?.resourceVersion !== undefined
  for (let attempt = 1; ; attempt++) {
    const pod = await currentPod(writer, request)
    if (!isBeyondBudgets(pod)) return await evictWithinBudget(writer, request, options, pod)
    try {
      // A pending pod may become ready, and so count for a budget, between this look and the delete.
      const pinned = isPending(pod) && !isVersionGiven ? atVersion(options, pod) : options
      await markAndDelete(writer, request, pinned)
      return 'evicted'
    } catch (error) {
      if (isVersionGiven || !isConflict(error) || attempt === maxTries) throw error
    }
  }
}

async function evictWithinBudget(writer: Writer, request: WriteRequest, options: DeleteOptions, pod: KubeObject) {
  const [budget, ...others] = await budgetsOf(writer, request, pod)
  if (others.length > 0) return 'several-budgets'
  if (budget === undefined) {
    await markAndDelete(writer, request, options)
    return 'evicted'
  }
  const budgetName = budget.metadata?.name ?? ''
  if (text(findCondition(pod, 'Ready'), 'status') === 'True' || !sparesUnhealthyPods(budget)) {
    await takeFromBudget(writer, request, budgetName)
    await markAndDelete(writer, request, options)
    return 'evicted'
  }
  try {
    await markAndDelete(writer, request, atVersion(options, pod))
    return 'evicted'
  } catch (error) {
    // The pod was not ready a moment ago; now nobody knows, so the client shall ask again.
    if (isConflict(error) && options.preconditions?.resourceVersion === undefined) throw budgetNotProcessed(budgetName)
    throw error
  }
}

async function takeFromBudget(writer: Writer, request: WriteRequest, budgetName: string): Promise<void> {
  const own = { ...request, resource: budgets, subresource: 'status', name: budgetName }
  await changeStored(writer, own, (budget) => {
    checkBudget(budget)
    takeDisruption(budget, request.name, writer.timestamp())
  })
}

/** In slices: there may be many, and their selectors long. More than two change nothing. */
async function budgetsOf(writer: Writer, { namespace }: WriteRequest, pod: KubeObject): Promise<KubeObject[]> {
  const labels = pod.metadata?.labels ?? {}
  const turns = new Turns(writer.parts.clock)
  const found: KubeObject[] = []
  for (const item of writer.parts.cache.collection(budgets.keyPrefix).list(collectionPrefix(budgets, namespace))) {
    if (turns.isOver) await turns.next()
    const budget = item.object()
    if (selectorMatches(struct(struct(budget, 'spec'), 'selector'), labels)) found.push(budget)
    if (found.length > 1) break
  }
  return found
}

async function markAndDelete(writer: Writer, request: WriteRequest, options: DeleteOptions): Promise<void> {
  const plain = { ...request, subresource: '' }
  if (request.dryRun) {
    await deleteObject(writer, plain, options)
    return
  }
  const marked = await changeStored(writer, request, (pod) => {
    checkPreconditions(pod, options)
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction API: evicting',
    } as const
    setCondition(pod, condition, writer.timestamp())
  })
  const isPinned = options.preconditions?.resourceVersion !== undefined
  await deleteObject(writer, plain, isPinned ? atVersion(options, { metadata: marked.metadata() }) : options)
}

function checkPreconditions(pod: KubeObject, { preconditions }: DeleteOptions): void {
  const { name = '', uid, resourceVersion } = pod.metadata ?? {}
  const check = (word: string, wanted: string | undefined, present: string | undefined, guess: string): void => {
    if (wanted === undefined || wanted === '' || wanted === present) return
    const why = `the ${word} in the precondition (${wanted}) does not match the ${word} in record (${present}). The object might have been ${guess}`
    throw conflict({ group: '', resource: 'Pod' }, name, why)
  }
  check('UID', preconditions?.uid, uid, 'deleted and then recreated')
  check('ResourceVersion', preconditions?.resourceVersion, resourceVersion, 'modified')
}

/** Pods that have ended, have not begun or are going already: taking them away disrupts nobody. */
function isBeyondBudgets(pod: KubeObject): boolean {
  const isOver = ['Succeeded', 'Failed'].includes(text(struct(pod, 'status'), 'phase'))
  return isOver || isPending(pod) || pod.metadata?.deletionTimestamp !== undefined
}

function isPending(pod: KubeObject): boolean {
  return text(struct(pod, 'status'), 'phase') === 'Pending' && pod.metadata?.deletionTimestamp === undefined
}

function atVersion(options: DeleteOptions, pod: KubeObject): DeleteOptions {
  return {
    ...options,
    preconditions: { ...options.preconditions, resourceVersion: pod.metadata?.resourceVersion ?? '' },
  }
}

async function currentPod(writer: Writer, request: WriteRequest): Promise<KubeObject> {
  const item = await writer.current(keyOf(pods, request.namespace, request.name), request)
  if (item === undefined) throw notFound(pods.groupResource, request.name)
  return item.object()
}
