import { describe, expect, it } from 'vitest'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { Copies, copies, MAX_COPIES_BYTES } from './copies.ts'
import { KeptObject } from './kept-object.ts'

describe('copies in another encoding', () => {
  it('have room up to a limit; those that nobody has used for longest go first', () => {
    const few = new Copies(3_000)
    const [first, second, third] = [1, 2, 3].map((fill) => few.keep(Buffer.alloc(1_000, fill))) as [
      object,
      object,
      object,
    ]
    few.find(first)
    const fourth = few.keep(Buffer.alloc(1_000, 4))
    expect([first, second, third, fourth].map((ticket) => few.find(ticket)?.[0])).toEqual([1, undefined, 3, 4])
    expect(few.bytes).toBe(3_000)
    few.clear()
    expect([few.bytes, few.find(first)]).toEqual([0, undefined])
  })

  it('never keep what has no room at all', () => {
    const few = new Copies(100)
    expect(few.find(few.keep(Buffer.alloc(101)))).toBeUndefined()
    expect(few.bytes).toBe(0)
  })

  it('of all objects stay within the limit, and are made again where they are gone', () => {
    const data = { text: 'x'.repeat(1_000_000) }
    const objects = Array.from({ length: 40 }, (_, index) => {
      const metadata = { name: `c${index}`, uid: 'u', resourceVersion: '1' }
      return new KeptObject('protobuf', encodeProtobuf({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data }).bytes)
    })
    for (const object of objects) object.in('json')
    expect(copies.bytes).toBeLessThanOrEqual(MAX_COPIES_BYTES)
    for (const object of objects) expect(JSON.parse(String(object.in('json')))).toMatchObject({ data })
    copies.clear()
  })
})
