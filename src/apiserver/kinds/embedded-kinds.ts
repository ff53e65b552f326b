/**
 * Claims inside a StatefulSet are whole objects for clients, who may write their kind and always read it, although the type
 * that is kept has no place for it: the wire has kinds for the outermost object only.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { struct, structs } from './fields.ts'

const place = /^spec\.volumeClaimTemplates\[\d+\]\.(?:kind|apiVersion)$/

/** Whether the field, which the type does not know, is the kind of an embedded object. */
export function isEmbeddedKind(kind: string, path: string): boolean {
  return kind === 'StatefulSet' && place.test(path)
}

/** Writes the kinds of embedded objects into an object that the codec has put in order. */
export function withEmbeddedKinds(object: KubeObject): KubeObject {
  const spec = struct(object, 'spec')
  const claims = structs(spec, 'volumeClaimTemplates')
  if (object.kind !== 'StatefulSet' || claims.length === 0) return object
  const typed = claims.map((claim) => ({ kind: 'PersistentVolumeClaim', apiVersion: 'v1', ...claim }))
  return { ...object, spec: { ...spec, volumeClaimTemplates: typed } }
}
