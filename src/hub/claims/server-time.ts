/**
 * What time it is for the cluster. A release counts against certificates by time, and the operator's laptop, whose clock may
 * be far behind, must not release a name "before" certificates that exist already.
 */
import type { KubeClient } from '../../kube/client/client.ts'
import { isForbidden, isNotFound } from '../../kube/status/predicates.ts'
import type { Clock } from '../../runtime/clock.ts'

const secondMs = 1_000

/** By the API server's clock, rounded up to the whole second it tells; by our own if it does not tell. */
export async function serverTimeMs(client: KubeClient, clock: Clock): Promise<number> {
  const date = await dateHeader(client)
  const toldMs = Date.parse(date ?? '')
  return Number.isNaN(toldMs) ? clock.nowMs() : toldMs + secondMs
}

async function dateHeader(client: KubeClient): Promise<string | undefined> {
  try {
    return (await client.fetch({ method: 'GET', path: '/version' })).headers.date
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined
    throw error
  }
}
