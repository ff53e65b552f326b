/**
 * `kube-system/extension-apiserver-authentication`: from it extension servers learn which client certificates to believe,
 * and by which proxy, under which headers, a user may be vouched for.
 */

import { certificatePem, readCertificates } from '../../identity/certificate.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { presentFields } from '../../kube/present-fields.ts'
import { sameValue } from '../kinds/equality.ts'
import { struct, text } from '../kinds/fields.ts'
import type { Item } from '../objects/item.ts'
import { builtIn } from '../objects/resource.ts'
import { type Controller, placeOf } from './controller.ts'
import type { InternalClient } from './internal-client.ts'

const TRUST_CONFIG_MAP = 'extension-apiserver-authentication'

export interface Trust {
  /** PEM of every CA whose client certificates this server believes. */
  readonly clientCaPem: string
  readonly requestHeader: {
    readonly caPem: string
    readonly allowedNames: readonly string[]
    readonly usernameHeaders: readonly string[]
    readonly groupHeaders: readonly string[]
    readonly extraHeaderPrefixes: readonly string[]
    /** Absent from the map when empty. */
    readonly uidHeaders?: readonly string[]
  }
}

const configMaps = builtIn('v1', 'configmaps')
const clientCaKey = 'client-ca-file'
const proxyCaKey = 'requestheader-client-ca-file'

export async function writeTrustConfigMap(client: InternalClient, trust: Trust, signal: AbortSignal): Promise<void> {
  const metadata = { namespace: 'kube-system', name: TRUST_CONFIG_MAP }
  const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: trustData(trust) }
  await client.ensure(configMaps, wanted, signal, (present) => merged(present, trust, client.nowMs))
}

/** Puts the map right whenever somebody changes or deletes it. */
export function trustController(client: InternalClient, trust: Trust): Controller {
  const isOurs = (item: Item): boolean => {
    const place = placeOf(item)
    return place.namespace === 'kube-system' && place.name === TRUST_CONFIG_MAP
  }
  return {
    name: 'trust-config-map',
    sources: [{ resource: configMaps, keysOf: (item) => (isOurs(item) ? [TRUST_CONFIG_MAP] : []) }],
    async reconcile(_key, signal) {
      await writeTrustConfigMap(client, trust, signal)
      return undefined
    },
  }
}

/** Another server on the same store may have CAs of its own: they stay until they expire. */
function merged(present: KubeObject, trust: Trust, nowMs: number): KubeObject | undefined {
  const before = struct(present, 'data') ?? {}
  const wanted = trustData(trust)
  const data = {
    ...before,
    ...wanted,
    [clientCaKey]: joinBundles(wanted[clientCaKey] ?? '', text(before, clientCaKey), nowMs),
    [proxyCaKey]: joinBundles(wanted[proxyCaKey] ?? '', text(before, proxyCaKey), nowMs),
  }
  return sameValue(before, data) ? undefined : { ...present, data }
}

function joinBundles(ours: string, present: string, nowMs: number): string {
  const mine = readCertificates(ours, 'our CA')
  const theirs = readBundle(present).filter(
    (certificate) =>
      certificate.notAfterMs >= nowMs && !mine.some((own) => own.fingerprint === certificate.fingerprint),
  )
  return certificatePem(...mine, ...theirs)
}

/** What somebody has spoilt is replaced, not kept. */
function readBundle(pem: string): ReturnType<typeof readCertificates> | [] {
  try {
    return readCertificates(pem, TRUST_CONFIG_MAP)
  } catch {
    return []
  }
}

function trustData({ clientCaPem, requestHeader }: Trust): Record<string, string> {
  const { caPem, allowedNames, usernameHeaders, groupHeaders, extraHeaderPrefixes, uidHeaders = [] } = requestHeader
  return presentFields({
    [clientCaKey]: clientCaPem,
    [proxyCaKey]: caPem,
    'requestheader-allowed-names': JSON.stringify(allowedNames),
    'requestheader-username-headers': JSON.stringify(usernameHeaders),
    'requestheader-group-headers': JSON.stringify(groupHeaders),
    'requestheader-extra-headers-prefix': JSON.stringify(extraHeaderPrefixes),
    'requestheader-uid-headers': uidHeaders.length === 0 ? undefined : JSON.stringify(uidHeaders),
  })
}
