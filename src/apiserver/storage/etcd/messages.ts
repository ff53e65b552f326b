/** The part of etcd's API v3 that the store speaks; numbers and names are those of rpc.proto and kv.proto. */
import type { MessageTable } from './codec.ts'

const HEADER = { revision: { number: 3, type: 'integer' } } as const satisfies MessageTable

export const KEY_VALUE = {
  key: { number: 1, type: 'bytes' },
  createRevision: { number: 2, type: 'integer' },
  modRevision: { number: 3, type: 'integer' },
  value: { number: 5, type: 'bytes' },
} as const satisfies MessageTable

const RANGE_REQUEST = {
  key: { number: 1, type: 'bytes' },
  rangeEnd: { number: 2, type: 'bytes' },
  limit: { number: 3, type: 'integer' },
  revision: { number: 4, type: 'integer' },
  countOnly: { number: 9, type: 'bool' },
} as const satisfies MessageTable

const RANGE_RESPONSE = {
  header: { number: 1, type: HEADER },
  kvs: { number: 2, type: KEY_VALUE, repeated: true },
  count: { number: 4, type: 'integer' },
} as const satisfies MessageTable

const PUT_REQUEST = {
  key: { number: 1, type: 'bytes' },
  value: { number: 2, type: 'bytes' },
  lease: { number: 3, type: 'id' },
} as const satisfies MessageTable

const DELETE_RANGE_REQUEST = { key: { number: 1, type: 'bytes' } } as const satisfies MessageTable

export const REQUEST_OP = {
  range: { number: 1, type: RANGE_REQUEST },
  put: { number: 2, type: PUT_REQUEST },
  deleteRange: { number: 3, type: DELETE_RANGE_REQUEST },
} as const satisfies MessageTable

const RESPONSE_OP = { range: { number: 1, type: RANGE_RESPONSE } } as const satisfies MessageTable

const COMPARE = {
  result: { number: 1, type: 'integer' },
  target: { number: 2, type: 'integer' },
  key: { number: 3, type: 'bytes' },
  modRevision: { number: 6, type: 'integer' },
} as const satisfies MessageTable
/** The values of its enums that we use. */
export const COMPARE_BY = { result: { equal: 0 }, target: { modRevision: 2 } } as const

const TXN_REQUEST = {
  compare: { number: 1, type: COMPARE, repeated: true },
  success: { number: 2, type: REQUEST_OP, repeated: true },
  failure: { number: 3, type: REQUEST_OP, repeated: true },
} as const satisfies MessageTable

export const TXN_RESPONSE = {
  header: { number: 1, type: HEADER },
  succeeded: { number: 2, type: 'bool' },
  responses: { number: 3, type: RESPONSE_OP, repeated: true },
} as const satisfies MessageTable

const COMPACTION_REQUEST = { revision: { number: 1, type: 'integer' } } as const satisfies MessageTable
const COMPACTION_RESPONSE = { header: { number: 1, type: HEADER } } as const satisfies MessageTable

const WATCH_CREATE_REQUEST = {
  key: { number: 1, type: 'bytes' },
  rangeEnd: { number: 2, type: 'bytes' },
  startRevision: { number: 3, type: 'integer' },
  progressNotify: { number: 4, type: 'bool' },
  prevKv: { number: 6, type: 'bool' },
  fragment: { number: 8, type: 'bool' },
} as const satisfies MessageTable

export const WATCH_REQUEST = {
  create: { number: 1, type: WATCH_CREATE_REQUEST },
  progress: { number: 3, type: {} },
} as const satisfies MessageTable

export const EVENT = {
  type: { number: 1, type: 'integer' },
  kv: { number: 2, type: KEY_VALUE },
  prevKv: { number: 3, type: KEY_VALUE },
} as const satisfies MessageTable
export const EVENT_TYPE = { put: 0, delete: 1 } as const

export const WATCH_RESPONSE = {
  header: { number: 1, type: HEADER },
  created: { number: 3, type: 'bool' },
  canceled: { number: 4, type: 'bool' },
  compactRevision: { number: 5, type: 'integer' },
  cancelReason: { number: 6, type: 'string' },
  /** More of the same revisions follows in the next response. */
  fragment: { number: 7, type: 'bool' },
  events: { number: 11, type: EVENT, repeated: true },
} as const satisfies MessageTable

const LEASE_GRANT_REQUEST = { ttl: { number: 1, type: 'integer' } } as const satisfies MessageTable
const LEASE_GRANT_RESPONSE = { id: { number: 2, type: 'id' } } as const satisfies MessageTable

/** A method of etcd's gRPC services: its path, and the tables of what goes in and comes out. */
export interface Method<Request extends MessageTable, Response extends MessageTable> {
  readonly path: string
  readonly request: Request
  readonly response: Response
  /** Whether it may be sent again when nobody knows whether it arrived. */
  readonly repeatable: boolean
}

export const RANGE = {
  path: '/etcdserverpb.KV/Range',
  request: RANGE_REQUEST,
  response: RANGE_RESPONSE,
  repeatable: true,
}
export const TXN = { path: '/etcdserverpb.KV/Txn', request: TXN_REQUEST, response: TXN_RESPONSE, repeatable: false }
export const COMPACT = {
  path: '/etcdserverpb.KV/Compact',
  request: COMPACTION_REQUEST,
  response: COMPACTION_RESPONSE,
  repeatable: true,
}
export const LEASE_GRANT = {
  path: '/etcdserverpb.Lease/LeaseGrant',
  request: LEASE_GRANT_REQUEST,
  response: LEASE_GRANT_RESPONSE,
  repeatable: true,
}
export const WATCH = {
  path: '/etcdserverpb.Watch/Watch',
  request: WATCH_REQUEST,
  response: WATCH_RESPONSE,
  repeatable: false,
}
