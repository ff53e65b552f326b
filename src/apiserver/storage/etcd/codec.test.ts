import * as fc from 'fast-check'
import protobuf from 'protobufjs'
import { describe, expect, it } from 'vitest'
import { decode, encode } from './codec.ts'
import { WATCH_REQUEST, WATCH_RESPONSE } from './messages.ts'

/** The same messages in the words of the reference implementation. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Header { uint64 cluster_id = 1; int64 revision = 3; }
  message KeyValue { bytes key = 1; int64 create_revision = 2; int64 mod_revision = 3; int64 version = 4; bytes value = 5; int64 lease = 6; }
  message Event { int32 type = 1; KeyValue kv = 2; KeyValue prev_kv = 3; }
  message WatchResponse {
    Header header = 1; int64 watch_id = 2; bool created = 3; bool canceled = 4; int64 compact_revision = 5;
    string cancel_reason = 6; bool fragment = 7; repeated Event events = 11;
  }
  message Create { bytes key = 1; bytes range_end = 2; int64 start_revision = 3; bool progress_notify = 4; bool prev_kv = 6; bool fragment = 8; }
  message Progress {}
  message WatchRequest { oneof request { Create create = 1; Progress progress = 3; } }
`)
const plain = { longs: Number, defaults: true, bytes: Buffer } as const

const bytes = fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array))
const revision = fc.maxSafeNat()
const keyValue = fc.record({ key: bytes, createRevision: revision, modRevision: revision, value: bytes })
const event = fc.record({ type: fc.constantFrom(0, 1), kv: keyValue, prevKv: fc.option(keyValue, { nil: undefined }) })
const response = fc.record({
  header: fc.record({ revision }),
  created: fc.boolean(),
  canceled: fc.boolean(),
  compactRevision: revision,
  cancelReason: fc.string(),
  fragment: fc.boolean(),
  events: fc.array(event, { maxLength: 4 }),
})

describe('the etcd codec', () => {
  it('reads what the reference implementation writes', () => {
    const reference = root.lookupType('WatchResponse')
    fc.assert(
      fc.property(response, (message) => {
        const encoded = reference.encode(reference.fromObject({ ...message, watchId: 7 })).finish()
        expect(decode(WATCH_RESPONSE, Buffer.from(encoded))).toEqual(message)
      }),
    )
  })

  it('writes what the reference implementation reads', () => {
    const reference = root.lookupType('WatchRequest')
    const create = fc.record({
      key: bytes,
      rangeEnd: bytes,
      startRevision: revision,
      progressNotify: fc.boolean(),
      prevKv: fc.boolean(),
      fragment: fc.boolean(),
    })
    fc.assert(
      fc.property(create, (create) => {
        const decoded = reference.decode(encode(WATCH_REQUEST, { create }))
        expect(reference.toObject(decoded, plain)['create']).toEqual(create)
      }),
    )
    expect(reference.toObject(reference.decode(encode(WATCH_REQUEST, { progress: {} })), plain)).toEqual({
      progress: {},
    })
  })

  it('reads what it writes', () => {
    fc.assert(
      fc.property(response, (message) => {
        const { events, ...rest } = message
        const withoutUndefined = events.map(({ prevKv, ...event }) =>
          prevKv === undefined ? event : { ...event, prevKv },
        )
        expect(decode(WATCH_RESPONSE, encode(WATCH_RESPONSE, { ...rest, events: withoutUndefined }))).toEqual(message)
      }),
    )
  })

  it('refuses bytes that are cut short and fields of the wrong kind', () => {
    const encoded = encode(WATCH_RESPONSE, { cancelReason: 'no leader' })
    expect(() => decode(WATCH_RESPONSE, encoded.subarray(0, -1))).toThrow('ends inside a value')
    expect(() => decode(WATCH_RESPONSE, Buffer.from([0x1a, 0x00]))).toThrow('field 3 comes with wire type 2')
  })
})
