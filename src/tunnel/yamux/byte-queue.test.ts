import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ByteQueue } from './byte-queue.ts'

const operation = fc.oneof(
  fc.tuple(fc.constant('push' as const), fc.constantFrom(0, 1, 3, 300, 511, 512, 2_000)),
  fc.tuple(fc.constant('shift' as const), fc.constant(0)),
  fc.tuple(fc.constant('settle' as const), fc.constant(0)),
  fc.tuple(fc.constant('gather' as const), fc.constantFrom(0, 1, 100, 512, 5_000)),
  fc.tuple(fc.constant('clear' as const), fc.constant(0)),
)

describe('ByteQueue', () => {
  it('gives back the same bytes in the same order as a plain buffer', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200, size: 'max' }), (operations) => {
        const queue = new ByteQueue()
        let model = Buffer.alloc(0)
        let next = 0
        const out: Uint8Array[] = []
        for (const [kind, size] of operations) {
          if (kind === 'push') {
            const chunk = Buffer.alloc(size).map(() => next++)
            queue.push(chunk)
            model = Buffer.concat([model, chunk])
          } else if (kind === 'settle') queue.settle()
          else if (kind === 'clear' && next % 5 === 0) {
            queue.clear()
            model = Buffer.alloc(0)
          } else {
            out.length = 0
            if (kind === 'shift') out.push(queue.shift() ?? Buffer.alloc(0))
            else queue.gather(Math.min(size, queue.bytes), out)
            const got = Buffer.concat(out)
            expect(got.equals(model.subarray(0, got.length))).toBe(true)
            if (kind === 'gather') expect(got.length).toBe(Math.min(size, model.length))
            model = model.subarray(got.length)
          }
          expect(queue.bytes).toBe(model.length)
        }
        out.length = 0
        queue.gather(queue.bytes, out)
        expect(Buffer.concat(out).equals(model)).toBe(true)
      }),
    )
  })

  it('passes a chunk that does not wait through untouched', () => {
    const queue = new ByteQueue()
    const chunk = Buffer.from('x')
    queue.push(chunk)
    expect(queue.shift()).toBe(chunk)
  })

  it('copies a small part of large memory out when it has to wait', () => {
    const queue = new ByteQueue()
    const large = Buffer.alloc(64 * 1024)
    queue.push(large.subarray(0, 1_000))
    queue.settle()
    expect(queue.shift()?.buffer.byteLength).toBeLessThanOrEqual(1_024)
  })

  it('leaves a large chunk alone, waiting or not', () => {
    const queue = new ByteQueue()
    const chunks = [Buffer.alloc(16 * 1024), Buffer.alloc(16 * 1024)]
    for (const chunk of chunks) {
      queue.push(chunk)
      queue.settle()
    }
    expect([queue.shift(), queue.shift()]).toEqual(chunks)
  })

  it('keeps many small chunks in few blocks', () => {
    const queue = new ByteQueue()
    for (let count = 0; count < 10_000; count++) queue.push(Buffer.from([count]))
    const out: Uint8Array[] = []
    queue.gather(queue.bytes, out)
    expect(out.length).toBeLessThan(10)
  })
})
