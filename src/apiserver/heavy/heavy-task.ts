/**
 * What is sent to another thread and back: the steps of a write and large objects to be shown, as JSON. Text crosses at the
 * cost of a copy; an object would be walked on both sides.
 */

import { type BodyForm, encodeJson } from '../../kube/codec/encode-body.ts'
import { parseJson, printJson } from '../../kube/codec/json.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { requestEntityTooLarge } from '../../kube/status/request-errors.ts'
import { ApiError, type Status } from '../../kube/status/status.ts'
import { rowHead } from '../../kube/tables/table.ts'
import { strategyFor } from '../kinds/registry.ts'
import type { WriteContext } from '../kinds/strategy.ts'
import { fromStored } from '../objects/conversion/conversion.ts'
import { checkValues, type RequestBody } from '../objects/decode-body.ts'
import type { PatchBody } from '../objects/patch.ts'
import { type Resource, storedResource } from '../objects/resource.ts'
import { finishCreateStep, finishUpdateStep, type Made, patchStep, readStep } from '../objects/write-steps.ts'
import { type SwaggerForm, swaggerBytes } from '../openapi/swagger/swagger-bytes.ts'

export interface ResourceName {
  readonly group: string
  readonly version: string
  readonly resource: string
}

/** Something in another form: an object in another version, as a row of a Table, in another encoding; documents as one. */
export type RenderTask =
  | { readonly step: 'convert'; readonly json: Uint8Array; readonly apiVersion: string }
  | {
      readonly step: 'row'
      readonly json: Uint8Array
      readonly kind: string
      readonly apiVersion: string
      readonly nowMs: number
    }
  | { readonly step: 'encode'; readonly json: Uint8Array; readonly form: BodyForm }
  | { readonly step: 'swagger'; readonly documents: readonly Uint8Array[]; readonly form: SwaggerForm }

/** Objects are JSON: texts where they were made for the occasion, bytes where they are kept. */
export type HeavyTask =
  | RenderTask
  | { readonly step: 'read'; readonly resource: ResourceName; readonly body: RequestBody }
  | { readonly step: 'patch'; readonly resource: ResourceName; readonly patch: PatchBody; readonly old: Uint8Array }
  | {
      readonly step: 'finish'
      readonly resource: ResourceName
      readonly object: string
      /** Absent for a create. */
      readonly old?: Uint8Array | undefined
      readonly context: WriteContext
    }

export type HeavyResult =
  | { readonly outcome: 'rendered'; readonly bytes: Uint8Array }
  | { readonly outcome: 'made'; readonly object: string; readonly warnings: readonly string[] }
  /** What the client is told. */
  | { readonly outcome: 'refused'; readonly status: Status }
  /** A fault of ours. */
  | { readonly outcome: 'failed'; readonly reason: string }

/** What the other thread says: once that it has begun, then what came of each task. */
export type HeavyMessage = 'ready' | HeavyResult

export function nameOf({ group, version, row }: Resource): ResourceName {
  return { group, version, resource: row.resource }
}

/** With its defaults; etcd keeps objects of half the size. */
const MAX_OBJECT_BYTES = 3 * 1024 * 1024
/** With its defaults, which may be more than what was sent. */
const MAX_OBJECT_VALUES = 150_000

/** On the other thread. Never throws: whatever happens is the result. */
export function performTask(task: HeavyTask): HeavyResult {
  try {
    if (isRendering(task)) return { outcome: 'rendered', bytes: render(task) }
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

function isRendering(task: HeavyTask): task is RenderTask {
  return ['convert', 'row', 'encode', 'swagger'].includes(task.step)
}

function render(task: RenderTask): Uint8Array {
  if (task.step === 'swagger') return swaggerBytes(task.documents, task.form)
  if (task.step === 'encode') return encodeJson(textOf(task.json), task.form)
  const object = kept(task.json)
  return Buffer.from(
    task.step === 'convert'
      ? printJson(fromStored(object, task.apiVersion))
      : rowHead(object, task.apiVersion, task.kind, task.nowMs),
  )
}

function perform(task: Exclude<HeavyTask, RenderTask>): Made {
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
  return parseJson(textOf(json)) as KubeObject
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8')
}

/** On the thread that asked. */
export function madeOf(result: HeavyResult): Made {
  if (result.outcome === 'made') return { object: parseJson(result.object) as KubeObject, warnings: result.warnings }
  throw failureOf(result)
}

export function renderedOf(result: HeavyResult): Buffer {
  if (result.outcome !== 'rendered') throw failureOf(result)
  const { buffer, byteOffset, byteLength } = result.bytes
  return Buffer.from(buffer, byteOffset, byteLength)
}

function failureOf(result: HeavyResult): Error {
  if (result.outcome === 'refused') {
    const { message = '', ...status } = result.status
    return new ApiError({ ...status, message })
  }
  return new Error(`heavy work failed: ${result.outcome === 'failed' ? result.reason : 'it was another task'}`)
}
