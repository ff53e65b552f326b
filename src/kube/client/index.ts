/** The client: connections, the verbs, watches, raw streams. */
export { type BodyCodec, BodyDecodeError, jsonCodec } from './body-codec.ts'
export { defaultMaxBodyBytes, type FetchedResponse, KubeClient, type KubeClientOptions } from './client.ts'
export {
  type ConnectionConfig,
  ConnectionConfigError,
  type Impersonation,
  type Material,
  type TlsSettings,
  type UserCredentials,
} from './connection.ts'
export { type Dial, type DialTarget, defaultConnectTimeoutMs, dialTcp, tcpKeepAliveMs } from './connector.ts'
export { type HeaderList, tokenRereadMs } from './credentials.ts'
export { loadConnection } from './default-connection.ts'
export { type InClusterOptions, isInCluster, loadInClusterConfig, serviceAccountDirectory } from './in-cluster.ts'
export * from './kinds.ts'
export { type KubeconfigOptions, kubeconfigFiles, loadKubeconfig } from './kubeconfig.ts'
export { maxKubeconfigBytes } from './kubeconfig-file.ts'
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
export { defaultPageSize, ResourceClient, watchTimeoutGraceMs } from './resource-client.ts'
export { defaultMaxRetries, maxRetryDelayMs } from './retry.ts'
export { SubresourceClient } from './subresource-client.ts'
export {
  defaultBodyTimeoutMs,
  defaultHeadersTimeoutMs,
  HttpTransport,
  type HttpTransportOptions,
  idleConnectionMs,
  maxResponseHeaderBytes,
  readBody,
  type Transport,
  type TransportRequest,
  type TransportResponse,
  type UpgradeResult,
} from './transport.ts'
export { TransportError, type TransportErrorCode } from './transport-error.ts'
export type * from './types.ts'
export { WatchStream } from './watch-stream.ts'
