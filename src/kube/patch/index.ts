/** Patches of the Kubernetes wire on plain JSON values. */
export { goPrint } from './go-value.ts'
export { MAX_JSON_PATCH_COPY_BYTES } from './json-patch.ts'
export { MAX_JSON_PATCH_OPERATIONS, unknownOperationFields } from './json-patch-operations.ts'
export type { JsonObject } from './json-value.ts'
export { MAX_PATCH_BYTES, MAX_PATCH_DEPTH } from './limits.ts'
export * from './patch.ts'
export { patchedObjectUnreadable } from './patch-errors.ts'
