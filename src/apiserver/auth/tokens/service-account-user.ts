/** The user that a ServiceAccount is to the API. */
import type { UserInfo } from '../user.ts'
import type { BoundObjects, ClaimedObject } from './claims.ts'

export const SERVICE_ACCOUNTS_GROUP = 'system:serviceaccounts'

const extraPrefix = 'authentication.kubernetes.io'

export function serviceAccountUserName(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`
}

export interface ServiceAccountIdentity {
  readonly namespace: string
  readonly serviceAccount: ClaimedObject
  readonly bound: Pick<BoundObjects, 'pod' | 'node'>
  /** The `jti` of the token; empty if it has none. */
  readonly tokenId: string
}

export function serviceAccountUser({ namespace, serviceAccount, bound, tokenId }: ServiceAccountIdentity): UserInfo {
  return {
    name: serviceAccountUserName(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: [SERVICE_ACCOUNTS_GROUP, `${SERVICE_ACCOUNTS_GROUP}:${namespace}`],
    extra: {
      ...(tokenId === '' ? {} : { [`${extraPrefix}/credential-id`]: [`JTI=${tokenId}`] }),
      ...nodeExtra(bound.node),
      ...podExtra(bound.pod),
    },
  }
}

function podExtra(pod: ClaimedObject | undefined): UserInfo['extra'] {
  if (pod === undefined || pod.name === '' || pod.uid === '') return {}
  return { [`${extraPrefix}/pod-name`]: [pod.name], [`${extraPrefix}/pod-uid`]: [pod.uid] }
}

function nodeExtra(node: ClaimedObject | undefined): UserInfo['extra'] {
  if (node === undefined || node.name === '') return {}
  return {
    [`${extraPrefix}/node-name`]: [node.name],
    ...(node.uid === '' ? {} : { [`${extraPrefix}/node-uid`]: [node.uid] }),
  }
}
