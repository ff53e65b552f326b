/**
 * Objects that are kept in one version and served in another. Most versions of a kind have the same shape, and only the
 * apiVersion differs; the others have a converter each. Objects come and go as values of their version: what is given
 * is left as it is, what is returned has the fields of its type in order.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import { findKind } from '../../../kube/schema/schema.ts'
import { inOrder } from '../decode-body.ts'
import { autoscalerToV1, autoscalerToV2 } from './autoscaler.ts'
import { claimToV1, claimToV1beta1, sliceToV1, sliceToV1beta1, templateToV1, templateToV1beta1 } from './devices.ts'
import { eventToCore, eventToEventsGroup } from './event.ts'

type Convert = (object: KubeObject) => KubeObject

/** By kind, then from one apiVersion to another. */
const converters: Readonly<Record<string, Convert>> = {
  'HorizontalPodAutoscaler autoscaling/v1 autoscaling/v2': autoscalerToV2,
  'HorizontalPodAutoscaler autoscaling/v2 autoscaling/v1': autoscalerToV1,
  'Event events.k8s.io/v1 v1': eventToCore,
  'Event v1 events.k8s.io/v1': eventToEventsGroup,
  'ResourceClaim resource.k8s.io/v1beta1 resource.k8s.io/v1': claimToV1,
  'ResourceClaim resource.k8s.io/v1 resource.k8s.io/v1beta1': claimToV1beta1,
  'ResourceClaimTemplate resource.k8s.io/v1beta1 resource.k8s.io/v1': templateToV1,
  'ResourceClaimTemplate resource.k8s.io/v1 resource.k8s.io/v1beta1': templateToV1beta1,
  'ResourceSlice resource.k8s.io/v1beta1 resource.k8s.io/v1': sliceToV1,
  'ResourceSlice resource.k8s.io/v1 resource.k8s.io/v1beta1': sliceToV1beta1,
}

/** The old shape cannot say all that the new one says: these are kept as they are served. */
const keptAsServed: ReadonlySet<string> = new Set(['CustomResourceDefinition'])

/** From the version that a client sent to the one that is kept. */
export function toStored(object: KubeObject, storedApiVersion: string): KubeObject {
  return convert(object, storedApiVersion)
}

/** From the version that is kept to the one that a client asked for. */
export function fromStored(object: KubeObject, apiVersion: string): KubeObject {
  return convert(object, apiVersion)
}

function convert(object: KubeObject, apiVersion: string): KubeObject {
  const { kind = '', apiVersion: given = '' } = object
  if (given === apiVersion || keptAsServed.has(kind)) return object
  const target = findKind(apiVersion, kind)
  if (target === undefined) throw new Error(`${kind} cannot be converted to ${apiVersion}: there is no such kind`)
  const converted = converters[`${kind} ${given} ${apiVersion}`]?.(object) ?? object
  return inOrder({ ...converted, apiVersion }, target)
}
