import { describe, expect, it, vi } from 'vitest'
import { MAX_WATCH_QUEUE_BYTES, WatchQueue } from './watch-queue.ts'

function slowStream() {
  const written: string[] = []
  let drain: () => void = () => {}
  const state = { isFull: false }
  return {
    written,
    state,
    drain: async (): Promise<void> => {
      drain()
      await Promise.resolve()
    },
    stream: {
      write: (chunk: Buffer) => {
        written.push(chunk.length > 20 ? `${chunk.length} bytes` : chunk.toString())
        return !state.isFull
      },
      drained: () => new Promise<void>((resolve) => (drain = resolve)),
      end: () => written.push('end'),
    },
  }
}

describe('WatchQueue', () => {
  it('writes through while the client keeps up, and holds back while it does not', async () => {
    const { stream, state, written, drain } = slowStream()
    const queue = new WatchQueue(stream, vi.fn())
    queue.push(Buffer.from('a'))
    state.isFull = true
    queue.push(Buffer.from('b'))
    queue.push(Buffer.from('c'))
    queue.push(Buffer.from('d'))
    expect(written).toEqual(['a', 'b'])
    state.isFull = false
    await drain()
    expect(written).toEqual(['a', 'b', 'cd'])
    queue.end()
    expect(written).toEqual(['a', 'b', 'cd', 'end'])
  })

  it('gives up on a client that never reads', () => {
    const { stream, state } = slowStream()
    const overflow = vi.fn()
    const queue = new WatchQueue(stream, overflow)
    state.isFull = true
    queue.push(Buffer.from('a'))
    queue.push(Buffer.alloc(MAX_WATCH_QUEUE_BYTES))
    expect(overflow).not.toHaveBeenCalled()
    queue.push(Buffer.from('b'))
    expect(overflow).toHaveBeenCalledOnce()
  })
})
