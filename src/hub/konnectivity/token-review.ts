/** Asks the cluster about the token of an agent, and about the pod of a token that does not name its node. */

import type { KubeClient } from '../../kube/client/client.ts'
import { pods, tokenReviews } from '../../kube/client/kinds.ts'
import { presentFields } from '../../kube/present-fields.ts'
import { isNotFound } from '../../kube/status/predicates.ts'
import type { AgentTokensOptions, ReviewedUser } from './agent-tokens.ts'

/** What `AgentTokens` needs of a cluster. `audiences` empty: the API server's own. */
export function tokenReviewer(
  client: KubeClient,
  audiences: readonly string[] = [],
): Required<Pick<AgentTokensOptions, 'review' | 'nodeOfPod'>> {
  return {
    review: (token) => review(client, token, audiences),
    nodeOfPod: (namespace, name, uid) => nodeOfPod(client, namespace, name, uid),
  }
}

async function review(
  client: KubeClient,
  token: string,
  audiences: readonly string[],
): Promise<ReviewedUser | undefined> {
  const spec = presentFields({ token, audiences: audiences.length > 0 ? [...audiences] : undefined })
  const { status } = await client.resource(tokenReviews).create({ spec })
  const { username, extra = {} } = status?.user ?? {}
  return status?.authenticated === true && username !== undefined ? { username, extra } : undefined
}

async function nodeOfPod(
  client: KubeClient,
  namespace: string,
  name: string,
  uid: string,
): Promise<string | undefined> {
  try {
    const pod = await client.resource(pods).in(namespace).get(name)
    return pod.metadata?.uid === uid ? pod.spec?.nodeName : undefined
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
