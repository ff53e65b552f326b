/**
 * Which API servers on one store are alive. Each renews a record that the store itself deletes when that stops: no
 * server judges another by its own clock. A server that ends in order takes its record away at once.
 */

import type { ObjectCache } from '../core/object-cache.ts'
import { integer, text } from '../kinds/fields.ts'
import type { Item } from '../objects/item.ts'
import { recordKey, recordPrefix, recordValue } from '../storage/private-records.ts'
import type { Store } from '../storage/store.ts'
import { StoreUnavailableError } from '../storage/store-errors.ts'
import type { Controller } from './controller.ts'

/** How long a server that says nothing is still listed; as long as with a kube-apiserver. */
export const SERVER_LEASE_SECONDS = 15
/** Leaves time for a second try before the record goes. */
const SERVER_RENEWAL_MS = 10_000
/** After a failure: soon, because the record of a server that serves may be about to go, or gone. */
const SERVER_RENEWAL_RETRY_MS = 1_000

/** Where a server is reached. */
export interface ServerAddress {
  readonly address: string
  readonly port: number
}

export const SERVER_RECORDS = { keyPrefix: recordPrefix('servers') } as const

/** The servers whose records are there: they have said within `SERVER_LEASE_SECONDS` that they serve. */
export function liveServers(cache: ObjectCache): ServerAddress[] {
  return cache.collection(SERVER_RECORDS.keyPrefix).list(SERVER_RECORDS.keyPrefix).map(addressIn)
}

function addressIn(item: Item): ServerAddress {
  const record = item.object()
  return { address: text(record, 'address'), port: integer(record, 'port') ?? 0 }
}

/** Keeps the record of this server alive. */
export function serverLeaseController(store: Store, self: () => ServerAddress): Controller {
  return {
    name: 'server-lease',
    sources: [],
    firstKeys: ['renewal'],
    reconcile: () => renew(store, self()),
  }
}

async function renew(store: Store, self: ServerAddress): Promise<number> {
  const key = keyOfServer(self)
  const value = recordValue(nameOfServer(self), { ...self })
  try {
    await store.commit({ conditions: [], writes: [{ type: 'put', key, value, leaseSeconds: SERVER_LEASE_SECONDS }] })
    return SERVER_RENEWAL_MS
  } catch (error) {
    if (error instanceof StoreUnavailableError) return SERVER_RENEWAL_RETRY_MS
    throw error
  }
}

/** Takes the record of this server away, so that the others need not wait until it expires. If this fails they do. */
export async function endServerLease(store: Store, self: ServerAddress): Promise<void> {
  await store.commit({ conditions: [], writes: [{ type: 'delete', key: keyOfServer(self) }] }).catch(() => undefined)
}

function keyOfServer(self: ServerAddress): string {
  return recordKey('servers', nameOfServer(self))
}

function nameOfServer({ address, port }: ServerAddress): string {
  return `${address}:${port}`
}
