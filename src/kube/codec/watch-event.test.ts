import { describe, expect, it } from 'vitest'
import { encodeProtobuf } from './object-codec.ts'
import { decodeWatchEvent, encodeWatchEvent, joinWatchEvent, splitWatchEvent } from './watch-event.ts'

const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', resourceVersion: '7' } }

describe('watch events', () => {
  it('come back as they were', () => {
    expect(decodeWatchEvent(encodeWatchEvent({ type: 'MODIFIED', object }))).toEqual({ type: 'MODIFIED', object })
  })

  it('can be taken apart and put together without reading the object', () => {
    const { bytes } = encodeProtobuf(object)
    const frame = joinWatchEvent('BOOKMARK', bytes)
    const split = splitWatchEvent(frame)
    expect(split.type).toBe('BOOKMARK')
    expect(split.object.equals(bytes)).toBe(true)
  })

  it('of an unknown type are refused', () => {
    const frame = Buffer.from(joinWatchEvent('ADDED', encodeProtobuf(object).bytes))
    frame.write('XDDED', 2)
    expect(() => decodeWatchEvent(frame)).toThrow('"XDDED" is no watch event type')
  })

  it('cut anywhere are refused', () => {
    const frame = encodeWatchEvent({ type: 'DELETED', object })
    for (let length = 0; length < frame.length; length++) {
      expect(() => decodeWatchEvent(frame.subarray(0, length))).toThrow()
    }
  })
})
