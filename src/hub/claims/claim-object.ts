/** A claim as a ConfigMap and back. A record that cannot be read is an error that names it: taken for absent, it would give the name away. */

import type { ConfigMap } from '../../kube/client/types.ts'
import { presentFields } from '../../kube/present-fields.ts'
import { Fields, timeText } from '../shared/fields.ts'
import { CLAIM_LABEL, claimName, labelsOf } from '../shared/names.ts'
import type { Claim, KeyFingerprint } from './claim.ts'

const fingerprintPattern = /^[0-9a-f]{64}$/

export function claimObject(claim: Claim, namespace: string): ConfigMap {
  const metadata = { name: claimName(claim.node), namespace, labels: labelsOf(CLAIM_LABEL) }
  return { metadata, data: dataOf(claim) }
}

function dataOf(claim: Claim): Record<string, string> {
  const { state, node } = claim
  const forgotten = claim.forgotten?.join(' ')
  if (claim.state === 'released')
    return presentFields({ node, state, releasedAt: timeText(claim.releasedAtMs), forgotten })
  const { current, next, heldSinceMs, tokenId, certificateEndsMs, issuer } = claim
  return presentFields({
    node,
    state,
    current,
    next,
    heldSince: timeText(heldSinceMs),
    tokenId,
    certificateEnds: certificateEndsMs === undefined ? undefined : timeText(certificateEndsMs),
    issuer,
    forgotten,
  })
}

export function isSameClaim(a: Claim, b: Claim): boolean {
  const text = (claim: Claim): string => JSON.stringify(Object.entries(dataOf(claim)))
  return text(a) === text(b)
}

/** Throws a `ClusterError` for a record that is damaged or stands under another node's name. */
export function claimOf(object: ConfigMap): Claim {
  const fields = Fields.ofConfigMap(object)
  const node = fields.required('node')
  if (object.metadata?.name !== claimName(node)) throw fields.damaged(`it is about another node, ${node}`)
  const state = fields.required('state')
  const forgotten = forgottenOf(fields)
  if (state === 'released') return { state, node, releasedAtMs: fields.timeMs('releasedAt'), forgotten }
  if (state !== 'held') throw fields.damaged(`its state ${JSON.stringify(state)} is neither held nor released`)
  const next = optionalFingerprint(fields, 'next')
  const issuer = optionalFingerprint(fields, 'issuer')
  const tokenId = fields.optional('tokenId')
  const certificateEndsMs = fields.optionalTimeMs('certificateEnds')
  return {
    state,
    node,
    current: fingerprint(fields, 'current'),
    next,
    heldSinceMs: fields.timeMs('heldSince'),
    tokenId,
    certificateEndsMs,
    issuer,
    forgotten,
  }
}

function forgottenOf(fields: Fields): Claim['forgotten'] {
  const forgotten = fields.optional('forgotten')?.split(' ')
  if (forgotten !== undefined && !forgotten.every((key) => fingerprintPattern.test(key)))
    throw fields.damaged('its field forgotten is no list of key fingerprints')
  return forgotten
}

function optionalFingerprint(fields: Fields, name: string): KeyFingerprint | undefined {
  return fields.optional(name) === undefined ? undefined : fingerprint(fields, name)
}

function fingerprint(fields: Fields, name: string): KeyFingerprint {
  const value = fields.required(name)
  if (!fingerprintPattern.test(value)) throw fields.damaged(`its field ${name} is no key fingerprint`)
  return value
}
