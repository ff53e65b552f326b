/** Single fields and list items of encoded documents. */
export { jsonWalker } from './json-walker.ts'
export { protobufWalker } from './protobuf-walker.ts'
export {
  ANY_ITEM,
  type DocumentType,
  type DocumentWalker,
  type EventParts,
  type FieldEdit,
  type FieldPath,
  formatFieldPath,
  type ItemChange,
  type ItemMatch,
  type ListItem,
  type ListStep,
  type ObjectIdentity,
  type PathStep,
} from './walker.ts'
