/** Claims are counted, in all and by storage class, and with them the storage that they ask for. */
import type { KubeObject } from '../../../kube/objects.ts'
import { struct, text } from '../../kinds/fields.ts'
import { compareQuantities, quantityInNano } from '../../kinds/quantities.ts'
import { amountsOf, canonical } from '../amounts.ts'
import { CLAIMS } from '../lookup.ts'
import { Total, type Totals } from '../totals.ts'
import { counting, countName, ONE, type QuotaEvaluator } from './evaluator.ts'
import { claimScopes } from './scopes.ts'

const classAnnotation = 'volume.beta.kubernetes.io/storage-class'
const classInfix = '.storageclass.storage.k8s.io/'
const counted = ['persistentvolumeclaims', 'requests.storage']
const nanoPerUnit = 1_000_000_000n

export const CLAIM_EVALUATOR: QuotaEvaluator = {
  resource: CLAIMS,
  handles: ({ operation, subresource }) => subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  covers: (name) =>
    name === countName(CLAIMS) || counted.includes(name) || counted.some((what) => name.endsWith(classInfix + what)),
  counting: counting((claim) => ({ usage: usageOf(claim), scopes: claimScopes(claim) })),
}

function usageOf(claim: KubeObject): Totals {
  const usage = new Map([['persistentvolumeclaims', ONE]])
  const storage = storageOf(claim)
  if (storage !== undefined) usage.set('requests.storage', Total.of(storage))
  const storageClass = classOf(claim)
  const byClass = [...usage].map(([name, total]) => [`${storageClass}${classInfix}${name}`, total] as const)
  return new Map([...usage, ...(storageClass === '' ? [] : byClass), [countName(CLAIMS), ONE]])
}

function classOf(claim: KubeObject): string {
  return claim.metadata?.annotations?.[classAnnotation] ?? text(struct(claim, 'spec'), 'storageClassName')
}

/** In whole bytes. After a failed expansion the larger amount may still be allocated, so it still counts. */
function storageOf(claim: KubeObject): string | undefined {
  const wanted = amountsOf(struct(struct(claim, 'spec'), 'resources'), 'requests')['storage']
  if (wanted === undefined) return undefined
  const allocated = amountsOf(struct(claim, 'status'), 'allocatedResources')['storage'] ?? '0'
  return inWholeUnits(compareQuantities(allocated, wanted) > 0 ? allocated : wanted)
}

function inWholeUnits(quantity: string): string {
  const nano = quantityInNano(quantity)
  return nano % nanoPerUnit === 0n ? canonical(quantity) : canonical(`${nano / nanoPerUnit + 1n}`)
}
