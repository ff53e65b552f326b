/** `kube-causeway/kube`: the Kubernetes wire for TypeScript. */
export * from './client/index.ts'
export * from './codec/index.ts'
export * from './media-type.ts'
export { MAX_ACCEPT_CLAUSES, MAX_ACCEPT_LENGTH, parseAccept } from './media-type-accept.ts'
export * from './negotiation.ts'
export * from './negotiation-body.ts'
export * from './negotiation-offers.ts'
export type * from './objects.ts'
export {
  applyPatch,
  goPrint,
  type JsonObject,
  MAX_JSON_PATCH_COPY_BYTES,
  MAX_JSON_PATCH_OPERATIONS,
  MAX_PATCH_BYTES,
  MAX_PATCH_DEPTH,
  NoStrategicMergeError,
  type PatchKind,
  type PatchRequest,
  patchedObjectUnreadable,
  patchKindsOf,
  unknownOperationFields,
} from './patch/index.ts'
export { hasEnvelope } from './protobuf/envelope.ts'
export { WireError, type WireErrorCode } from './protobuf/wire-error.ts'
export * from './reflector/index.ts'
export * from './representation.ts'
export * from './request-info.ts'
export { buildPath, ResourcePathError } from './request-info-path.ts'
export * from './schema/index.ts'
export * from './selectors/index.ts'
export * from './status/index.ts'
export * from './walker/index.ts'
export * from './watch/index.ts'
