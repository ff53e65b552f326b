/**
 * What is sent to another thread and back: the steps of a write, with objects as JSON. Text crosses at the cost of a copy;
 * an object would be walked on both sides.
 */
import { parseJson, printJson } from '../../kube/codec/json.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { ApiError, requestEntityTooLarge, type Status } from '../../kube/status/index.ts'
import { checkValues, type RequestBody } from '../core/decode-body.ts'
import { type Resource, storedResource } from '../core/resource.ts'
import type { PatchBody } from '../core/write/patch.ts'
import { finishCreateStep, finishUpdateStep, type Made, patchStep, readStep } from '../core/write/steps.ts'
import { strategyFor } from '../kinds/registry.ts'
import type { WriteContext } from '../kinds/strategy.ts'

export interface ResourceName {
  readonly group: string
  readonly version: string
  readonly resource: string
}

/** Objects are JSON: texts where they were made for the occasion, bytes where they are kept. */
export type HeavyTask =
  | { readonly step: 'read'; readonly resource: ResourceName; readonly body: RequestBody }
  | { readonly step: 'patch'; readonly resource: ResourceName; readonly patch: PatchBody; readonly old: Uint8Array }
  | {
      readonly step: 'finish'
      readonly resource: ResourceName
      readonly object: string
      /** Absent for a create. */
      readonly old?: Uint8Array
      readonly context: WriteContext
    }

export type HeavyResult =
  | { readonly outcome: 'made'; readonly object: string; readonly warnings: readonly string[] }
  /** What the client is told. */
  | { readonly outcome: 'refused'; readonly status: Status }
  /** A fault of ours. */
  | { readonly outcome: 'failed'; readonly reason: string }

export function nameOf({ group, version, row }: Resource): ResourceName {
  return { group, version, resource: row.resource }
}

/** With its defaults; etcd keeps objects of half the size. */
export const MAX_OBJECT_BYTES = 3 * 1024 * 1024
/** With its defaults, which may be more than what was sent. */
export const MAX_OBJECT_VALUES = 150_000

/** On the other thread. Never throws: whatever happens is the result. */
export function performTask(task: HeavyTask): HeavyResult {
  try {
    const { object, warnings } = perform(task)
    checkValues(object, MAX_OBJECT_VALUES)
    const text = printJson(object)
    if (Buffer.byteLength(text) > MAX_OBJECT_BYTES) throw requestEntityTooLarge(`limit is ${MAX_OBJECT_BYTES}`)
    return { outcome: 'made', object: text, warnings }
  } catch (error) {
    if (error instanceof ApiError) return { outcome: 'refused', status: error.status }
    return { outcome: 'failed', reason: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

function perform(task: HeavyTask): Made {
  const { group, version, resource: name } = task.resource
  const resource = storedResource(group, version, name)
  if (resource === undefined) throw new Error(`there is no resource ${group}/${version}/${name}`)
  const context = { resource, strategy: strategyFor(resource) }
  if (task.step === 'read') return readStep(context, task.body)
  if (task.step === 'patch') return patchStep(context, task.patch, kept(task.old))
  const object = parseJson(task.object) as KubeObject
  if (task.old === undefined) return finishCreateStep(context, object, task.context)
  return finishUpdateStep(context, object, kept(task.old), task.context)
}

function kept(json: Uint8Array): KubeObject {
  return parseJson(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')) as KubeObject
}

/** On the thread that asked. */
export function madeOf(result: HeavyResult): Made {
  if (result.outcome === 'made') return { object: parseJson(result.object) as KubeObject, warnings: result.warnings }
  if (result.outcome === 'refused') {
    const { message = '', ...status } = result.status
    throw new ApiError({ ...status, message })
  }
  throw new Error(`heavy work failed: ${result.reason}`)
}
