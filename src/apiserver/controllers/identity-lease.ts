/**
 * `kube-system/apiserver-...`: a Lease by which people and other components see which API servers there are. It lasts an
 * hour; what must know at once whether a server lives uses the records in `server-leases.ts`.
 */
import { createHash, randomUUID } from 'node:crypto'
import { formatMicroTime, parseTime } from '../../kube/codec/time.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { integer, struct, text } from '../kinds/fields.ts'
import { builtIn } from '../objects/resource.ts'
import { type Controller, nameOfItem } from './controller.ts'
import type { InternalClient } from './internal-client.ts'

/** As with a kube-apiserver: long enough to see for a while which servers there were. */
const IDENTITY_LEASE_SECONDS = 3_600
/** As often as a kube-apiserver does it. */
const IDENTITY_RENEWAL_MS = 10_000

const leases = builtIn('coordination.k8s.io/v1', 'leases')
const namespace = 'kube-system'
const identityLabel = 'apiserver.kubernetes.io/identity'
const identity = 'kube-apiserver'
/** Hexadecimal digits of a hash: enough that no two servers have the same. */
const hashDigits = 26
/** The key of our own renewal; names of Leases have no slash. */
const renewal = '/'

export interface IdentityLeaseOptions {
  readonly client: InternalClient
  readonly hostName: string
  /** Known once the server listens; tells servers on one machine apart. */
  readonly securePort: () => number
}

export function identityLeaseController({ client, hostName, securePort }: IdentityLeaseOptions): Controller {
  const holder = randomUUID()
  const ownName = (): string => nameFor(`${hostName}:${securePort()}`)
  return {
    name: 'identity-lease',
    sources: [
      { resource: leases, keysOf: (item) => (isIdentity(item.labels.get(identityLabel)) ? [nameOfItem(item)] : []) },
    ],
    firstKeys: [renewal],
    async reconcile(key, signal) {
      if (key === renewal) {
        await renew(client, ownName(), hostName, holder, signal)
        return IDENTITY_RENEWAL_MS
      }
      return await removeExpired(client, key, signal)
    },
  }
}

async function renew(client: InternalClient, name: string, hostName: string, holder: string, signal: AbortSignal) {
  const labels = { [identityLabel]: identity, 'kubernetes.io/hostname': hostName }
  const spec = {
    holderIdentity: `${name}_${holder}`,
    leaseDurationSeconds: IDENTITY_LEASE_SECONDS,
    renewTime: microTime(client.nowMs),
  }
  const wanted = { apiVersion: leases.apiVersion, kind: leases.kind, metadata: { namespace, name, labels }, spec }
  await client.ensure(leases, wanted, signal, (present) => ({
    ...present,
    metadata: { ...present.metadata, labels: { ...present.metadata?.labels, ...labels } },
    spec: { ...struct(present, 'spec'), ...spec },
  }))
}

/** The milliseconds until it expires, unless it has. */
async function removeExpired(client: InternalClient, name: string, signal: AbortSignal): Promise<number | undefined> {
  const place = { resource: leases, namespace, name }
  const lease = client.get(place)
  if (lease === undefined || !isIdentity(lease.metadata?.labels?.[identityLabel])) return undefined
  const leftMs = expiryMs(lease) - client.nowMs
  if (leftMs > 0) return leftMs
  const { uid = '', resourceVersion = '' } = lease.metadata ?? {}
  await client.delete(place, signal, { preconditions: { uid, resourceVersion } })
  return undefined
}

/** Zero for one that was never renewed. */
function expiryMs(lease: KubeObject): number {
  const spec = struct(lease, 'spec')
  const renewed = parseTime(text(spec, 'renewTime'))
  return renewed === undefined ? 0 : (renewed.seconds + (integer(spec, 'leaseDurationSeconds') ?? 0)) * 1_000
}

function isIdentity(label: string | undefined): boolean {
  return label === identity
}

function nameFor(server: string): string {
  return `apiserver-${createHash('sha256').update(server).digest('hex').slice(0, hashDigits)}`
}

function microTime(nowMs: number): string {
  const seconds = Math.floor(nowMs / 1_000)
  return formatMicroTime(seconds, (nowMs - seconds * 1_000) * 1_000)
}
