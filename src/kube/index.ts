/** `kube-causeway/kube`: the Kubernetes wire for TypeScript. */

export { WireError, type WireErrorCode } from '../protobuf/wire-error.ts'
export type { BackoffSteps } from '../runtime/backoff.ts'
export { type BodyCodec, BodyDecodeError, jsonCodec } from './client/body-codec.ts'
export { type FetchedResponse, KubeClient, type KubeClientOptions } from './client/client.ts'
export {
  type ConnectionConfig,
  ConnectionConfigError,
  type Impersonation,
  type Material,
  type TlsSettings,
  type UserCredentials,
} from './client/connection.ts'
export { type Dial, type DialTarget, dialTcp } from './client/connector.ts'
export type { HeaderList } from './client/credentials.ts'
export { loadConnection } from './client/default-connection.ts'
export { type InClusterOptions, isInCluster, loadInClusterConfig } from './client/in-cluster.ts'
export {
  apiVersionOf,
  certificateSigningRequests,
  configMaps,
  endpointSlices,
  events,
  leases,
  namespaces,
  nodes,
  pods,
  type Resource,
  type Subresource,
  secrets,
  selfSubjectAccessReviews,
  selfSubjectReviews,
  serviceAccounts,
  services,
  subjectAccessReviews,
  tokenRequests,
  tokenReviews,
} from './client/kinds.ts'
export { type KubeconfigOptions, kubeconfigFiles, loadKubeconfig } from './client/kubeconfig.ts'
export { lostFieldsOf } from './client/lost-fields.ts'
export type {
  CallOptions,
  ClientRequest,
  DeleteOptions,
  GetQuery,
  ListQuery,
  WatchQuery,
  WriteQuery,
} from './client/options.ts'
export type { JsonPatchOperation, Patch } from './client/patch.ts'
export { protobufCodec } from './client/protobuf-codec.ts'
export { ResourceClient } from './client/resource-client.ts'
export { SubresourceClient } from './client/subresource-client.ts'
export {
  HttpTransport,
  type HttpTransportOptions,
  readBody,
  type Transport,
  type TransportRequest,
  type TransportResponse,
  type UpgradeResult,
} from './client/transport.ts'
export { TransportError, type TransportErrorCode } from './client/transport-error.ts'
export type {
  AccessReviewStatus,
  CertificateSigningRequest,
  Condition,
  ConfigMap,
  Container,
  Endpoint,
  EndpointSlice,
  EnvVar,
  Event,
  Lease,
  LocalReference,
  Namespace,
  Node,
  NonResourceAttributes,
  ObjectReference,
  Pod,
  ResourceAttributes,
  Secret,
  SelfSubjectAccessReview,
  SelfSubjectReview,
  Service,
  ServiceAccount,
  ServicePort,
  SubjectAccessReview,
  TokenRequest,
  TokenReview,
  UserInfo,
} from './client/types.ts'
export { WatchStream } from './client/watch-stream.ts'
export { DroppedFields } from './codec/dropped-fields.ts'
export { parseJson, printJson, RawJson } from './codec/json.ts'
export {
  type DecodedMessage,
  type DecodedObject,
  decodeMessage,
  decodeProtobuf,
  type EncodedObject,
  encodeMessage,
  encodeProtobuf,
} from './codec/object-codec.ts'
export { canonicalQuantity } from './codec/quantity.ts'
export {
  decodeWatchEvent,
  type EncodedWatchEvent,
  encodeWatchEvent,
  joinWatchEvent,
  splitWatchEvent,
} from './codec/watch-event.ts'
export { hasEnvelope } from './envelope.ts'
export { formatMediaType, type MediaType, MediaTypeError, parseMediaType } from './media-type.ts'
export { parseAccept } from './media-type-accept.ts'
export {
  type ErrorOutput,
  type NegotiatedOutput,
  negotiateDiscovery,
  negotiateErrorOutput,
  negotiateOutput,
  type OutputRequest,
  renderingMismatch,
} from './negotiation.ts'
export { negotiateBody, negotiatePatch, type PatchType } from './negotiation-body.ts'
export type { Offer, RouteOffer } from './negotiation-offers.ts'
export type {
  KubeList,
  KubeObject,
  ListMeta,
  ObjectMeta,
  OwnerReference,
  TypeMeta,
  Versioned,
  WatchEvent,
  WatchEventType,
} from './objects.ts'
export { goPrint } from './patch/go-value.ts'
export { unknownOperationFields } from './patch/json-patch-operations.ts'
export type { JsonObject } from './patch/json-value.ts'
export { applyPatch, NoStrategicMergeError, type PatchKind, type PatchRequest, patchKindsOf } from './patch/patch.ts'
export { patchedObjectUnreadable } from './patch/patch-errors.ts'
export { ReflectorCore, type ReflectorCoreOptions } from './reflector/core.ts'
export type { Failure, FailureKind } from './reflector/failure.ts'
export type { Action, Input, Step } from './reflector/protocol.ts'
export {
  type Notification,
  Reflector,
  type ReflectorListener,
  type ReflectorOptions,
  type ReflectorSource,
  type WatchSource,
} from './reflector/reflector.ts'
export { type Change, keyOf } from './reflector/view.ts'
export {
  acceptHeader,
  type Encoding,
  type IncludeObject,
  itemRepresentation,
  type MetaVersion,
  type Rendering,
  type Representation,
  representationKey,
  responseContentType,
} from './representation.ts'
export {
  isLongRunning,
  isPathSegment,
  type NonResourceRequest,
  parseRequestInfo,
  type RequestInfo,
  type RequestReading,
  type RequestTarget,
  type ResourceRequest,
  type ResourceVerb,
  readRequest,
} from './request-info.ts'
export { buildPath, ResourcePathError } from './request-info-path.ts'
export {
  findResource,
  findResourceOfKind,
  joinGroupVersion,
  listGroupVersions,
  splitApiVersion,
} from './schema/catalogue.ts'
export type { GroupVersionRow, ResourceRow, SubresourceRow } from './schema/catalogue-table.ts'
export {
  type FieldType,
  findKind,
  type Kind,
  kubernetesVersion,
  listKinds,
  type MessageType,
  messageType,
  type ScalarType,
} from './schema/schema.ts'
export type { FieldFacts } from './schema/table.ts'
export {
  checkSelectableFields,
  escapeFieldValue,
  type FieldGetter,
  type FieldSelector,
  type FieldTerm,
  fieldSelector,
  fieldSelectorKey,
  formatFieldSelector,
  isEmptyFieldSelector,
  matchesFields,
  parseFieldSelector,
  requiresExactMatch,
  unescapeFieldValue,
} from './selectors/field.ts'
export {
  formatLabelSelector,
  isEmptyLabelSelector,
  type LabelSelector,
  type LabelSelectorObject,
  labelSelector,
  labelSelectorFromObject,
  labelSelectorKey,
  matchesLabels,
  parseLabelSelector,
  requiredLabelValue,
} from './selectors/label.ts'
export {
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  labelRequirement,
} from './selectors/label-requirement.ts'
export { fieldMatcher, labelMatcher } from './selectors/matcher.ts'
export { labelKeyBreaches, labelValueBreaches } from './selectors/names.ts'
export { accessDenied, accessDeniedText, type DeniedPath, type DeniedResource } from './status/access-denied.ts'
export {
  insufficientStorage,
  internalError,
  serviceUnavailable,
  timeout,
  tooLargeResourceVersion,
  tooManyRequests,
} from './status/availability-errors.ts'
export {
  childPath,
  duplicateField,
  type FieldError,
  type FieldErrorText,
  type FieldErrorType,
  fieldErrorTexts,
  fieldPath,
  forbiddenField,
  formatFieldError,
  formatFieldErrors,
  internalFieldError,
  invalidField,
  joinFieldErrorTexts,
  keyedPath,
  notFoundField,
  notSupportedField,
  requiredField,
  tooFewField,
  tooLongField,
  tooManyField,
  tooShortField,
  typeInvalidField,
} from './status/field-error.ts'
export {
  contentEncoding,
  failureInSuccess,
  fromHttp,
  type ResponseContext,
  type ResponseHeaders,
} from './status/from-http.ts'
export { type GenericResponse, genericServerResponse, withExplanation } from './status/generic-response.ts'
export { formatGroupKind, formatGroupResource, type GroupKind, type GroupResource } from './status/group-names.ts'
export {
  findApiError,
  findStatusCause,
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isExpired,
  isForbidden,
  isInsufficientStorage,
  isInternalError,
  isInvalid,
  isMethodNotSupported,
  isNotAcceptable,
  isNotFound,
  isRequestEntityTooLarge,
  isServerTimeout,
  isServiceUnavailable,
  isTimeout,
  isTooLargeResourceVersion,
  isTooManyRequests,
  isUnauthorized,
  isUnexpectedServerResponse,
  isUnsupportedMediaType,
  suggestedDelaySeconds,
} from './status/predicates.ts'
export { readFailure } from './status/read-status.ts'
export {
  badRequest,
  gone,
  notAcceptable,
  notAcceptableMediaType,
  requestEntityTooLarge,
  resourceExpired,
  unauthorized,
  unsupportedMediaType,
} from './status/request-errors.ts'
export {
  alreadyExists,
  applyConflict,
  conflict,
  forbidden,
  generateNameConflict,
  invalid,
  methodNotSupported,
  notFound,
  serverTimeout,
} from './status/resource-errors.ts'
export {
  ApiError,
  type ApiFailure,
  type CauseType,
  failureStatus,
  type KnownCauseType,
  type KnownStatusReason,
  type Status,
  type StatusCause,
  type StatusDetails,
  type StatusReason,
  statusDetails,
  successStatus,
} from './status/status.ts'
export { type HttpFailure, toHttp } from './status/to-http.ts'
export { jsonWalker } from './walker/json-walker.ts'
export { protobufWalker } from './walker/protobuf-walker.ts'
export {
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
} from './walker/walker.ts'
export {
  encodeJsonLine,
  encodeLengthDelimited,
  type FrameDecoder,
  JsonLineDecoder,
  LengthDelimitedDecoder,
  WatchFrameError,
  type WatchFrameErrorCode,
} from './watch/frames.ts'
