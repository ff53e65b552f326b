/**
 * What the API server's failures become. At start and on the command line: one sentence that says what could not be done,
 * why, and what helps. On the way of a request: a refusal that tells the edge to come back.
 */

import { BodyDecodeError } from '../../kube/client/body-codec.ts'
import { ConnectionConfigError } from '../../kube/client/connection.ts'
import { TransportError } from '../../kube/client/transport-error.ts'
import { findApiError, isForbidden, isUnauthorized } from '../../kube/status/predicates.ts'
import { ExplainedError } from '../../runtime/explained-error.ts'
import { Refusal } from '../refusal.ts'

/** When an edge should ask again after the API server did not answer; its own backoff does the rest. */
const UNAVAILABLE_RETRY_AFTER_SECONDS = 5

/** The cluster does not let the hub work, or holds something the hub cannot work with. */
export class ClusterError extends ExplainedError {
  override readonly name = 'ClusterError'
}

/** Runs `work`; what the API server says no to becomes a `ClusterError` that begins with "cannot <doing>". */
export async function explained<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const problem = problemOf(error)
    if (problem === undefined) throw error
    throw new ClusterError(`cannot ${doing}: ${problem}`, { cause: error })
  }
}

/** `undefined` for what did not come from the API server or the way to it. */
function problemOf(error: unknown): string | undefined {
  const apiError = findApiError(error)
  if (isForbidden(apiError))
    return `${apiError?.message}; give the hub its rights with \`kubectl apply -f deploy/hub-rbac.yaml\``
  if (isUnauthorized(apiError))
    return `the API server does not accept the credentials (${apiError?.message}); check the kubeconfig or service account`
  if (apiError !== undefined) return `the API server answered ${apiError.code}: ${apiError.message}`
  if (error instanceof TransportError) return `the API server cannot be reached: ${error.message}`
  if (error instanceof BodyDecodeError) return `what answers is not an API server: ${error.message}`
  return error instanceof ConnectionConfigError ? error.message : undefined
}

/**
 * Runs `work` on behalf of an edge. The edge learns that the cluster is at fault, or which record is damaged; more than that
 * is for the hub's log.
 */
export async function onBehalfOfEdge<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ClusterError) throw new Refusal('internal', error.message, { cause: error })
    if (problemOf(error) === undefined) throw error
    throw clusterUnavailable(error)
  }
}

export function clusterUnavailable(cause?: unknown): Refusal {
  return new Refusal('cluster-unavailable', 'the hub cannot ask its cluster at the moment; try again later', {
    cause,
    retryAfterSeconds: UNAVAILABLE_RETRY_AFTER_SECONDS,
  })
}
