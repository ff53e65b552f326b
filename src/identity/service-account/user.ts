/** The user that a ServiceAccount is to the API. */
import type { BoundObjects, ClaimedObject } from './claims.ts'

const SERVICE_ACCOUNTS_GROUP = 'system:serviceaccounts'
export const SERVICE_ACCOUNT_USER_PREFIX = 'system:serviceaccount:'

const extraPrefix = 'authentication.kubernetes.io'
/** The node on which the pod of a token runs. */
export const NODE_NAME_EXTRA = `${extraPrefix}/node-name`

export interface ServiceAccountUser {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export function serviceAccountUserName(namespace: string, name: string): string {
  return `${SERVICE_ACCOUNT_USER_PREFIX}${namespace}:${name}`
}

export function serviceAccountGroups(namespace: string): string[] {
  return [SERVICE_ACCOUNTS_GROUP, `${SERVICE_ACCOUNTS_GROUP}:${namespace}`]
}

export interface ServiceAccountIdentity {
  readonly namespace: string
  readonly serviceAccount: ClaimedObject
  readonly bound: Pick<BoundObjects, 'pod' | 'node'>
  /** The `jti` of the token; empty if it has none. */
  readonly tokenId: string
}

export function serviceAccountUser({
  namespace,
  serviceAccount,
  bound,
  tokenId,
}: ServiceAccountIdentity): ServiceAccountUser {
  return {
    name: serviceAccountUserName(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: serviceAccountGroups(namespace),
    extra: {
      ...(tokenId === '' ? {} : { [`${extraPrefix}/credential-id`]: [`JTI=${tokenId}`] }),
      ...nodeExtra(bound.node),
      ...podExtra(bound.pod),
    },
  }
}

function podExtra(pod: ClaimedObject | undefined): ServiceAccountUser['extra'] {
  if (pod === undefined || pod.name === '' || pod.uid === '') return {}
  return { [`${extraPrefix}/pod-name`]: [pod.name], [`${extraPrefix}/pod-uid`]: [pod.uid] }
}

function nodeExtra(node: ClaimedObject | undefined): ServiceAccountUser['extra'] {
  if (node === undefined || node.name === '') return {}
  return {
    [NODE_NAME_EXTRA]: [node.name],
    ...(node.uid === '' ? {} : { [`${extraPrefix}/node-uid`]: [node.uid] }),
  }
}
