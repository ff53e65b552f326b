/**
 * The steps of a write that depend on nothing but the object and the request: what is long here may be done elsewhere, on
 * another thread. Whatever asks the store, the clock or other objects stands between these steps, in `create.ts` and
 * `update.ts`.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { splitApiVersion } from '../../kube/schema/catalogue.ts'
import type { FieldError } from '../../kube/status/field-error.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import { invalid } from '../../kube/status/resource-errors.ts'
import type { KindStrategy, WriteContext } from '../kinds/strategy.ts'
import { fromStored, toStored } from './conversion/conversion.ts'
import { type Decoded, decodeObject, inOrder, type RequestBody } from './decode-body.ts'
import { type PatchBody, patchObject } from './patch.ts'
import type { Resource } from './resource.ts'

/** What came out of a step: an object in the version that is kept, and texts for `Warning` headers. */
export type Made = Decoded

/** What a step needs to know besides the object. */
export interface StepContext {
  readonly resource: Resource
  readonly strategy: KindStrategy
}

/** From a body to the object that it means, with its defaults. */
export function readStep({ resource, strategy }: StepContext, body: RequestBody): Made {
  const { object, warnings } = decodeObject(body, resource)
  return { object: completed(object, resource, strategy), warnings }
}

/** From a patch and the present object to the wanted one, with its defaults. */
export function patchStep({ resource, strategy }: StepContext, patch: PatchBody, old: KubeObject): Made {
  const { object, warnings } = patchObject(patch, fromStored(old, resource.apiVersion), resource)
  return { object: completed(object, resource, strategy), warnings }
}

function completed(object: KubeObject, { storedApiVersion }: Resource, strategy: KindStrategy): KubeObject {
  const stored = toStored(object, storedApiVersion)
  strategy.applyDefaults?.(stored)
  return stored
}

/** From what admission has let pass to what will be kept. Throws an ApiError that names all that is wrong. */
export function finishCreateStep({ resource, strategy }: StepContext, object: KubeObject, context: WriteContext): Made {
  strategy.prepareForCreate?.(object, context)
  const ready = inOrder(object, resource.stored)
  judge(ready, resource, strategy.validate?.(ready) ?? [])
  return { object: ready, warnings: strategy.warningsOnCreate?.(ready) ?? [] }
}

/** From the new state that admission has let pass to what will be kept. Throws an ApiError that names all that is wrong. */
export function finishUpdateStep(
  { resource, strategy }: StepContext,
  object: KubeObject,
  old: KubeObject,
  context: WriteContext,
): Made {
  const isStatus = context.subresource === 'status'
  if (isStatus) strategy.prepareForStatusUpdate?.(object, old, context)
  else strategy.prepareForUpdate?.(object, old, context)
  const ready = inOrder(object, resource.stored)
  if (!isStatus) countGeneration(ready, old, strategy)
  const errors = isStatus ? strategy.validateStatusUpdate?.(ready, old) : strategy.validateUpdate?.(ready, old, context)
  judge(ready, resource, errors ?? [])
  return { object: ready, warnings: strategy.warningsOnUpdate?.(ready, old) ?? [] }
}

function countGeneration(object: KubeObject, old: KubeObject, { generation }: KindStrategy): void {
  if (generation === undefined || object.metadata === undefined) return
  if (generation.hasChanged(object, old)) object.metadata.generation = (old.metadata?.generation ?? 0) + 1
}

function judge(object: KubeObject, { stored, kind }: Resource, errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  const { name = '', generateName = '' } = object.metadata ?? {}
  const group = splitApiVersion(stored.apiVersion).group
  throw invalid({ group, kind }, name === '' ? generateName : name, errors)
}

/** A whole new state says whose it is: nobody replaces an object with what was meant for another. */
export function checkNamed(object: KubeObject, name: string): KubeObject {
  if ((object.metadata?.name ?? '') !== '') return placeUnderName(object, name)
  throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
}

/** The name in the path decides; an object that names another one is a mistake, not a rename. */
export function placeUnderName(object: KubeObject, name: string): KubeObject {
  const own = object.metadata?.name ?? ''
  if (own === '') object.metadata = { ...object.metadata, name }
  else if (own !== name) {
    throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`)
  }
  return object
}
