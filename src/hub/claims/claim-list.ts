/** All claims at once: to show them, and to clear away old marks of released names. */
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { ConfigMap } from '../../kube/client/types.ts'
import { CLAIM_LABEL } from '../shared/names.ts'
import { removeUnchanged } from '../shared/shared-object.ts'
import type { Claim } from './claim.ts'
import { claimOf } from './claim-object.ts'

export interface ClaimList {
  /** By name of the node. */
  readonly claims: readonly Claim[]
  readonly damaged: readonly { readonly name: string; readonly problem: string }[]
}

export async function listClaims(maps: ResourceClient<ConfigMap>): Promise<ClaimList> {
  const claims: Claim[] = []
  const damaged: { name: string; problem: string }[] = []
  for (const { object, claim, problem } of await readAll(maps)) {
    if (claim === undefined) damaged.push({ name: object.metadata?.name ?? '', problem })
    else claims.push(claim)
  }
  return { claims: claims.toSorted((a, b) => (a.node < b.node ? -1 : 1)), damaged }
}

/** Removes the marks of names released before `beforeMs`; a claim that is taken up again meanwhile stays. */
export async function removeReleasedClaims(maps: ResourceClient<ConfigMap>, beforeMs: number): Promise<number> {
  let removed = 0
  for (const { object, claim } of await readAll(maps)) {
    if (claim?.state !== 'released' || claim.releasedAtMs >= beforeMs) continue
    if (await removeUnchanged(maps, object)) removed++
  }
  return removed
}

interface ReadClaim {
  readonly object: ConfigMap
  readonly claim?: Claim
  readonly problem: string
}

async function readAll(maps: ResourceClient<ConfigMap>): Promise<readonly ReadClaim[]> {
  const { items } = await maps.listAll({ labelSelector: CLAIM_LABEL })
  return items.map((object) => {
    try {
      return { object, claim: claimOf(object), problem: '' }
    } catch (error) {
      return { object, problem: (error as Error).message }
    }
  })
}
