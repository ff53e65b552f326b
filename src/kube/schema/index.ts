/** The built-in types and resources of one Kubernetes release. */
export {
  findResource,
  findResourceOfKind,
  type GroupVersionRow,
  joinGroupVersion,
  listGroupVersions,
  type ResourceRow,
  type SubresourceRow,
  splitApiVersion,
} from './catalogue.ts'
export {
  type FieldType,
  findKind,
  type Kind,
  kubernetesVersion,
  listKinds,
  type MessageType,
  messageType,
  type ScalarType,
} from './schema.ts'
export type { FieldFacts } from './table.ts'
