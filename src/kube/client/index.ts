/** The client: connections, the verbs, watches, raw streams. */
export { type BodyCodec, BodyDecodeError, jsonCodec } from './body-codec.ts'
export { DEFAULT_MAX_BODY_BYTES, type FetchedResponse, KubeClient, type KubeClientOptions } from './client.ts'
export {
  type ConnectionConfig,
  ConnectionConfigError,
  type Impersonation,
  MAX_MATERIAL_BYTES,
  type Material,
  type TlsSettings,
  type UserCredentials,
} from './connection.ts'
export { DEFAULT_CONNECT_TIMEOUT_MS, type Dial, type DialTarget, dialTcp, TCP_KEEP_ALIVE_MS } from './connector.ts'
export { type HeaderList, TOKEN_REREAD_MS } from './credentials.ts'
export { loadConnection } from './default-connection.ts'
export { type InClusterOptions, isInCluster, loadInClusterConfig, SERVICE_ACCOUNT_DIRECTORY } from './in-cluster.ts'
export * from './kinds.ts'
export { type KubeconfigOptions, kubeconfigFiles, loadKubeconfig } from './kubeconfig.ts'
export { MAX_KUBECONFIG_BYTES } from './kubeconfig-file.ts'
export { lostFieldsOf } from './lost-fields.ts'
export type {
  CallOptions,
  ClientRequest,
  DeleteOptions,
  GetQuery,
  ListQuery,
  WatchQuery,
  WriteQuery,
} from './options.ts'
export type { JsonPatchOperation, Patch } from './patch.ts'
export { protobufCodec } from './protobuf-codec.ts'
export { DEFAULT_PAGE_SIZE, ResourceClient, WATCH_TIMEOUT_GRACE_MS } from './resource-client.ts'
export { DEFAULT_MAX_RETRIES, MAX_RETRY_DELAY_MS } from './retry.ts'
export { SubresourceClient } from './subresource-client.ts'
export {
  DEFAULT_BODY_TIMEOUT_MS,
  DEFAULT_HEADERS_TIMEOUT_MS,
  HttpTransport,
  type HttpTransportOptions,
  IDLE_CONNECTION_MS,
  MAX_RESPONSE_HEADER_BYTES,
  readBody,
  type Transport,
  type TransportRequest,
  type TransportResponse,
  type UpgradeResult,
} from './transport.ts'
export { TransportError, type TransportErrorCode } from './transport-error.ts'
export type * from './types.ts'
export { WatchStream } from './watch-stream.ts'
