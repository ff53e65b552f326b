/** What is found out about a request before anything is done with it: who calls, for what, and by which connections. */

import type { Exchange } from '../../http/server/exchange.ts'
import {
  isLongRunning,
  type RequestInfo,
  type RequestReading,
  readRequest,
  UNREAD_REQUEST,
} from '../../kube/request-info.ts'
import type { RequestQuery } from '../../kube/request-query.ts'
import { ApiError } from '../../kube/status/status.ts'
import type { PoolName } from '../upstream/upstream.ts'
import type { AcceptedTokens } from './accepted-tokens.ts'
import { type Caller, callerOf } from './caller.ts'
import type { CallerKey } from './caller-limits.ts'
import type { ClientCertificates } from './client-certificate.ts'
import type { ClientClass } from './endpoint-metrics.ts'
import { checkTarget, dropConnectionHeaders } from './request-head.ts'

export interface Entry {
  readonly caller: Caller
  /** Whom the limits count it for. */
  readonly key: CallerKey
  readonly pool: PoolName
  readonly clientClass: ClientClass
  /** Undefined where an API server would not understand the path either: it says so itself. */
  readonly info: RequestInfo | undefined
  readonly query: RequestQuery
  readonly isLong: boolean
}

export interface EntryOptions {
  readonly certificates: ClientCertificates
  readonly accepted: AcceptedTokens
}

/** Throws an ApiError for a request that goes no further. */
export function enter(exchange: Exchange, isUpgrade: boolean, { certificates, accepted }: EntryOptions): Entry {
  checkTarget(exchange.target)
  dropConnectionHeaders(exchange.headers)
  const caller = callerOf(certificates.of(exchange.peer), exchange.headers, isUpgrade)
  const reading = read(exchange)
  const isLong = reading !== undefined && isLongRunning(reading.info)
  const { info, query } = reading ?? { info: undefined, query: UNREAD_REQUEST.query }
  return { caller, ...standingOf(caller, exchange.peer.address, accepted), info, query, isLong }
}

const nodeKey: CallerKey = { name: 'node', standing: 'node' }

function standingOf(
  caller: Caller,
  address: string,
  accepted: AcceptedTokens,
): Pick<Entry, 'key' | 'pool' | 'clientClass'> {
  if (caller.kind === 'node') return { key: nodeKey, pool: 'node', clientClass: 'node' }
  if (caller.kind === 'anonymous')
    return { key: unprovenKey(address, 'anonymous'), pool: 'open', clientClass: 'anonymous' }
  const known = accepted.find(caller.hash)
  if (known === undefined) return { key: unprovenKey(address, 'new'), pool: 'open', clientClass: 'token' }
  return { key: known.key, pool: 'token', clientClass: known.tokenClass }
}

/** All who have proven nothing, from one address, are one caller: a new token costs nothing to make up. */
export function unprovenKey(address: string, standing: 'new' | 'anonymous'): CallerKey {
  return { name: `address ${address}`, standing }
}

function read({ method, target }: Exchange): RequestReading | undefined {
  try {
    return readRequest({ method, path: target })
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}
