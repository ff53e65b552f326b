/** Which resource holds which kind, for the kinds this program touches. Any other resource is described the same way. */
import type { KubeObject } from '../objects.ts'
import type {
  CertificateSigningRequest,
  ConfigMap,
  EndpointSlice,
  Event,
  Lease,
  Namespace,
  Node,
  Pod,
  Secret,
  SelfSubjectAccessReview,
  SelfSubjectReview,
  Service,
  ServiceAccount,
  SubjectAccessReview,
  TokenRequest,
  TokenReview,
} from './types.ts'

declare const objectType: unique symbol

export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** The plural in paths: `pods`. */
  readonly resource: string
  readonly namespaced: boolean
  /** Fills `apiVersion` and `kind` of objects that are sent without; only needed to send any. */
  readonly kind?: string
  /** Never set: it ties the descriptor to the type of its objects. */
  readonly [objectType]?: T
}

/** A subresource that carries a kind of its own, such as `serviceaccounts/token`. */
export interface Subresource<T extends KubeObject = KubeObject> {
  readonly subresource: string
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly [objectType]?: T
}

export function apiVersionOf({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}

function define<T extends KubeObject>(
  apiVersion: string,
  kind: string,
  resource: string,
  scope: 'cluster' | 'namespace',
) {
  const slash = apiVersion.indexOf('/')
  const described: Resource<T> = {
    group: apiVersion.slice(0, Math.max(0, slash)),
    version: apiVersion.slice(slash + 1),
    resource,
    kind,
    namespaced: scope === 'namespace',
  }
  return described
}

export const namespaces = define<Namespace>('v1', 'Namespace', 'namespaces', 'cluster')
export const nodes = define<Node>('v1', 'Node', 'nodes', 'cluster')
export const pods = define<Pod>('v1', 'Pod', 'pods', 'namespace')
export const services = define<Service>('v1', 'Service', 'services', 'namespace')
export const secrets = define<Secret>('v1', 'Secret', 'secrets', 'namespace')
export const configMaps = define<ConfigMap>('v1', 'ConfigMap', 'configmaps', 'namespace')
export const serviceAccounts = define<ServiceAccount>('v1', 'ServiceAccount', 'serviceaccounts', 'namespace')
export const events = define<Event>('v1', 'Event', 'events', 'namespace')
export const endpointSlices = define<EndpointSlice>(
  'discovery.k8s.io/v1',
  'EndpointSlice',
  'endpointslices',
  'namespace',
)
export const leases = define<Lease>('coordination.k8s.io/v1', 'Lease', 'leases', 'namespace')
export const certificateSigningRequests = define<CertificateSigningRequest>(
  'certificates.k8s.io/v1',
  'CertificateSigningRequest',
  'certificatesigningrequests',
  'cluster',
)
export const tokenReviews = define<TokenReview>('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', 'cluster')
export const selfSubjectReviews = define<SelfSubjectReview>(
  'authentication.k8s.io/v1',
  'SelfSubjectReview',
  'selfsubjectreviews',
  'cluster',
)
export const subjectAccessReviews = define<SubjectAccessReview>(
  'authorization.k8s.io/v1',
  'SubjectAccessReview',
  'subjectaccessreviews',
  'cluster',
)
export const selfSubjectAccessReviews = define<SelfSubjectAccessReview>(
  'authorization.k8s.io/v1',
  'SelfSubjectAccessReview',
  'selfsubjectaccessreviews',
  'cluster',
)

/** The subresource `token` of `serviceAccounts`. */
export const tokenRequests: Subresource<TokenRequest> = {
  subresource: 'token',
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenRequest',
}
