/** Which node a user is, if any: kubelets carry their node in their name, and a group that says they are kubelets. */
import type { UserInfo } from '../../request/user.ts'

const NODES_GROUP = 'system:nodes'
const NODE_USER_PREFIX = 'system:node:'

/** Undefined for everybody else; empty for a kubelet that does not say which node it serves. */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(NODE_USER_PREFIX) && groups.includes(NODES_GROUP)
    ? name.slice(NODE_USER_PREFIX.length)
    : undefined
}
