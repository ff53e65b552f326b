/**
 * What of a pod decides where it stands in Endpoints and EndpointSlices: its addresses, whether it is ready, whether it is going
 * and whether it has ended. Read from a Pod as the controllers of Kubernetes read it.
 */
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject } from '../../kube/patch/json-value.ts'
import { canonicalIpAddress } from '../../network/ip-address.ts'

export interface LocalPod {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** In canonical text and in the pod's order; empty while it has none. */
  readonly addresses: readonly string[]
  readonly isReady: boolean
  /** Its deletion has begun. */
  readonly isTerminating: boolean
  /** All its containers have ended, and none will be started again. */
  readonly isOver: boolean
}

/** Undefined for what no API server would keep as the pod of a node: without an identity, or with addresses that are none. */
export function localPodOf(pod: JsonObject): LocalPod | undefined {
  const metadata = objectIn(pod, 'metadata')
  const status = objectIn(pod, 'status')
  const [uid, namespace, name] = [textIn(metadata, 'uid'), textIn(metadata, 'namespace'), textIn(metadata, 'name')]
  const addresses = addressesIn(status)
  if (uid === '' || namespace === '' || name === '' || addresses === undefined) return undefined
  const phase = textIn(status, 'phase')
  return {
    uid,
    namespace,
    name,
    addresses,
    isReady: isReady(status),
    isTerminating: textIn(metadata, 'deletionTimestamp') !== '',
    isOver: phase === 'Succeeded' || phase === 'Failed',
  }
}

/** Whether both would be reached at the same addresses by the same clients; going is not asked for: the kubelet never says it. */
export function isSameTruth(one: LocalPod, other: LocalPod): boolean {
  return (
    one.isReady === other.isReady && one.isOver === other.isOver && isDeepStrictEqual(one.addresses, other.addresses)
  )
}

/** Where the two fields differ, the single one counts: so API servers read what kubelets send. */
function addressesIn(status: JsonObject): readonly string[] | undefined {
  const single = textIn(status, 'podIP')
  const many = Array.isArray(status['podIPs']) ? status['podIPs'] : []
  const listed = many.map((entry) => (isJsonObject(entry) ? textIn(entry, 'ip') : ''))
  const texts = single !== '' && listed[0] !== single ? [single] : listed
  const addresses: string[] = []
  for (const text of texts) {
    const address = canonicalIpAddress(text)
    if (address === undefined) return undefined
    addresses.push(address)
  }
  return hasOneOfEachFamily(addresses) ? addresses : undefined
}

function hasOneOfEachFamily(addresses: readonly string[]): boolean {
  const families = addresses.map((address) => address.includes(':'))
  return new Set(families).size === families.length
}

function isReady(status: JsonObject): boolean {
  const conditions = Array.isArray(status['conditions']) ? status['conditions'] : []
  const ready: unknown = conditions.find((entry) => isJsonObject(entry) && entry['type'] === 'Ready')
  return isJsonObject(ready) && ready['status'] === 'True'
}

function objectIn(object: JsonObject, key: string): JsonObject {
  const value = object[key]
  return isJsonObject(value) ? value : {}
}

function textIn(object: JsonObject, key: string): string {
  const value = object[key]
  return typeof value === 'string' ? value : ''
}
