/** Who makes a request, once somebody has vouched for it. */
export interface UserInfo {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export const ANONYMOUS_USER = 'system:anonymous'
export const UNAUTHENTICATED_GROUP = 'system:unauthenticated'
export const AUTHENTICATED_GROUP = 'system:authenticated'
/** May do anything, whatever RBAC says. */
export const MASTERS_GROUP = 'system:masters'

export const anonymousUser: UserInfo = { name: ANONYMOUS_USER, uid: '', groups: [UNAUTHENTICATED_GROUP], extra: {} }
