/**
 * The fields that this program reads or writes of the kinds it touches; everything else travels along untouched
 * through the open index of `KubeObject`. A test holds these types against the published ones.
 */
import type { KubeObject, ObjectMeta } from '../objects.ts'

export interface LocalReference {
  name?: string
}

export interface ObjectReference {
  apiVersion?: string
  kind?: string
  namespace?: string
  name?: string
  uid?: string
  resourceVersion?: string
  fieldPath?: string
}

export interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
}

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] }
  status?: { phase?: string }
}

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: object
}

export interface Container {
  name: string
  image?: string
  command?: string[]
  args?: string[]
  env?: EnvVar[]
}

export interface Pod extends KubeObject {
  spec?: {
    nodeName?: string
    serviceAccountName?: string
    hostNetwork?: boolean
    containers: Container[]
    initContainers?: Container[]
  }
  status?: { phase?: string; podIP?: string; hostIP?: string; reason?: string; conditions?: Condition[] }
}

export interface Node extends KubeObject {
  spec?: { podCIDR?: string; providerID?: string; unschedulable?: boolean }
  status?: {
    addresses?: Array<{ type: string; address: string }>
    conditions?: Condition[]
    daemonEndpoints?: { kubeletEndpoint?: { Port: number } }
  }
}

export interface ServicePort {
  name?: string
  port: number
  protocol?: string
  targetPort?: number | string
  nodePort?: number
}

export interface Service extends KubeObject {
  spec?: {
    type?: string
    clusterIP?: string
    clusterIPs?: string[]
    externalName?: string
    selector?: Record<string, string>
    ports?: ServicePort[]
  }
}

export interface Endpoint {
  addresses: string[]
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean }
  hostname?: string
  nodeName?: string
  zone?: string
  targetRef?: ObjectReference
}

export interface EndpointSlice extends KubeObject {
  addressType: string
  endpoints: Endpoint[]
  ports?: Array<{ name?: string; port?: number; protocol?: string; appProtocol?: string }>
}

/** Values are base64. */
export interface Secret extends KubeObject {
  type?: string
  immutable?: boolean
  data?: Record<string, string>
  stringData?: Record<string, string>
}

export interface ConfigMap extends KubeObject {
  immutable?: boolean
  data?: Record<string, string>
  binaryData?: Record<string, string>
}

export interface ServiceAccount extends KubeObject {
  automountServiceAccountToken?: boolean
  secrets?: ObjectReference[]
  imagePullSecrets?: LocalReference[]
}

export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string
    leaseDurationSeconds?: number
    acquireTime?: string
    renewTime?: string
    leaseTransitions?: number
  }
}

export interface Event extends KubeObject {
  metadata: ObjectMeta
  involvedObject: ObjectReference
  type?: string
  reason?: string
  message?: string
  action?: string
  count?: number
  eventTime?: string
  firstTimestamp?: string
  lastTimestamp?: string
  reportingComponent?: string
  reportingInstance?: string
}

/** `request` and `certificate` are base64 of PEM. */
export interface CertificateSigningRequest extends KubeObject {
  spec: {
    request: string
    signerName: string
    expirationSeconds?: number
    usages?: string[]
    username?: string
    uid?: string
    groups?: string[]
  }
  status?: { certificate?: string; conditions?: Condition[] }
}

export interface UserInfo {
  username?: string
  uid?: string
  groups?: string[]
  extra?: Record<string, string[]>
}

export interface TokenReview extends KubeObject {
  spec: { token?: string; audiences?: string[] }
  status?: { authenticated?: boolean; user?: UserInfo; audiences?: string[]; error?: string }
}

export interface TokenRequest extends KubeObject {
  spec: {
    audiences: string[]
    expirationSeconds?: number
    boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string }
  }
  status?: { token: string; expirationTimestamp: string }
}

export interface ResourceAttributes {
  namespace?: string
  verb?: string
  group?: string
  version?: string
  resource?: string
  subresource?: string
  name?: string
}

export interface NonResourceAttributes {
  path?: string
  verb?: string
}

export interface AccessReviewStatus {
  allowed: boolean
  denied?: boolean
  reason?: string
  evaluationError?: string
}

export interface SelfSubjectAccessReview extends KubeObject {
  spec: { resourceAttributes?: ResourceAttributes; nonResourceAttributes?: NonResourceAttributes }
  status?: AccessReviewStatus
}

export interface SubjectAccessReview extends KubeObject {
  spec: {
    user?: string
    uid?: string
    groups?: string[]
    extra?: Record<string, string[]>
    resourceAttributes?: ResourceAttributes
    nonResourceAttributes?: NonResourceAttributes
  }
  status?: AccessReviewStatus
}

export interface SelfSubjectReview extends KubeObject {
  status?: { userInfo?: UserInfo }
}
