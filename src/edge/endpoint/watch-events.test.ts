import { describe, expect, it } from 'vitest'
import { watchEventsOf } from './watch-events.ts'

const json = Buffer.from('{"type":"ADDED"}\n{"type":"DELETED"}\n')

function framed(...sizes: number[]): Buffer {
  return Buffer.concat(
    sizes.map((size) => {
      const event = Buffer.alloc(4 + size, '\n')
      event.writeUInt32BE(size, 0)
      return event
    }),
  )
}

/** How many bytes had passed each time that no event was under way, byte by byte. */
function ends(contentType: string, bytes: Buffer): number[] {
  const events = watchEventsOf(contentType)
  const found: number[] = []
  for (let offset = 0; offset < bytes.length; offset += 1) {
    events?.pass(bytes.subarray(offset, offset + 1))
    if (events?.isBetween === true) found.push(offset + 1)
  }
  return found
}

describe('the events of a watch', () => {
  it('end with their lines in JSON', () => {
    expect(ends('application/json', json)).toEqual([17, json.length])
    expect(ends('application/json;stream=watch', json)).toEqual([17, json.length])
  })

  it('end with their frames in protobuf, empty ones too', () => {
    const type = 'application/vnd.kubernetes.protobuf;stream=watch'
    expect(ends(type, framed(3, 0, 300))).toEqual([7, 11, 315])
    const whole = watchEventsOf(type)
    whole?.pass(framed(3, 70_000))
    expect(whole?.isBetween).toBe(true)
    whole?.pass(framed(9).subarray(0, 6))
    expect(whole?.isBetween).toBe(false)
  })

  it('may end before the first', () => {
    expect(watchEventsOf('application/json')?.isBetween).toBe(true)
    expect(watchEventsOf('application/vnd.kubernetes.protobuf')?.isBetween).toBe(true)
  })

  it('are not known in any other form', () => {
    expect(watchEventsOf('application/cbor-seq')).toBeUndefined()
    expect(watchEventsOf('')).toBeUndefined()
  })
})
