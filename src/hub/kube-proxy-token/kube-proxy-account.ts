/**
 * The ServiceAccount under which every kube-proxy at an edge works, and its tokens. It is part of deploy/hub-rbac.yaml; where
 * it is missing the hub makes it, if it may. The binding is made before the account: an account that is there has its rights.
 */
import type { KubeClient } from '../../kube/client/client.ts'
import { type Resource, serviceAccounts, tokenRequests } from '../../kube/client/kinds.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { findApiError, isAlreadyExists, isForbidden, isNotFound } from '../../kube/status/predicates.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { Refusal } from '../refusal.ts'
import { labelsOf } from '../shared/names.ts'

export const KUBE_PROXY_ACCOUNT = 'kube-proxy'
export const KUBE_PROXY_BINDING = 'causeway:kube-proxy'
/** Kubernetes cannot take such a token back, so a day; a node that was offline for half of it still has a good one. */
export const KUBE_PROXY_TOKEN_LIFE_SECONDS = 86_400
/** Rights are given by people; an edge that asks more often than this would not get them sooner. */
const LACKING_RIGHTS_RETRY_AFTER_SECONDS = 60

const nodeProxierRole = 'system:node-proxier'

interface ClusterRoleBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: string; name: string }
  subjects: { kind: string; name: string; namespace: string }[]
}

const clusterRoleBindings: Resource<ClusterRoleBinding> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  resource: 'clusterrolebindings',
  namespaced: false,
}

export interface IssuedToken {
  readonly token: string
  /** RFC 3339. */
  readonly expires: string
}

export interface KubeProxyAccountOptions {
  readonly client: KubeClient
  /** Where the hub keeps its objects. */
  readonly namespace: string
  readonly audit: Logger
}

export class KubeProxyAccount {
  readonly #options: KubeProxyAccountOptions

  constructor(options: KubeProxyAccountOptions) {
    this.#options = options
  }

  /** A token that the API server takes for the account. A hub without the rights refuses, and says what gives them. */
  async issue(): Promise<IssuedToken> {
    try {
      return await this.#request()
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    await this.#create()
    return await this.#request()
  }

  async #request(): Promise<IssuedToken> {
    const { client, namespace } = this.#options
    const spec = { audiences: [], expirationSeconds: KUBE_PROXY_TOKEN_LIFE_SECONDS }
    const accounts = client.resource(serviceAccounts).in(namespace)
    const tokens = accounts.subresource(KUBE_PROXY_ACCOUNT, tokenRequests)
    const { status } = await this.#permitted('make tokens of', () => tokens.create({ spec }))
    if (status === undefined) throw new Error('the API server made no token and reported no error')
    return { token: status.token, expires: status.expirationTimestamp }
  }

  async #create(): Promise<void> {
    const { client, namespace, audit } = this.#options
    const metadata = { labels: labelsOf() }
    const bindings = client.resource(clusterRoleBindings)
    await this.#permitted('bind', async () => {
      await unlessPresent(() =>
        bindings.create({
          metadata: { ...metadata, name: KUBE_PROXY_BINDING },
          roleRef: { apiGroup: clusterRoleBindings.group, kind: 'ClusterRole', name: nodeProxierRole },
          subjects: [{ kind: 'ServiceAccount', name: KUBE_PROXY_ACCOUNT, namespace }],
        }),
      )
    })
    const accounts = client.resource(serviceAccounts).in(namespace)
    await this.#permitted('create', async () => {
      await unlessPresent(() => accounts.create({ metadata: { ...metadata, name: KUBE_PROXY_ACCOUNT } }))
    })
    audit.info(
      { event: 'kube-proxy-account-created', namespace, account: KUBE_PROXY_ACCOUNT, binding: KUBE_PROXY_BINDING },
      'account of kube-proxy created',
    )
  }

  async #permitted<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isForbidden(error)) throw error
      // Without the error as its cause, which would make it one more failure of the cluster.
      throw new Refusal(
        'hub-lacks-rights',
        `the hub may not ${doing} the ServiceAccount ${this.#options.namespace}/${KUBE_PROXY_ACCOUNT}: ` +
          `${findApiError(error)?.message}. Where the cluster is administered, run ` +
          '`kubectl apply -f deploy/hub-rbac.yaml`, which has the account, its binding and the right to its tokens',
        { retryAfterSeconds: LACKING_RIGHTS_RETRY_AFTER_SECONDS },
      )
    }
  }
}

/** Creates an object; that another hub was faster is as good. */
async function unlessPresent(create: () => Promise<unknown>): Promise<void> {
  try {
    await create()
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
}
