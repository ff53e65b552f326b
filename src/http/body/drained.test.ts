import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { drained } from './drained.ts'

describe('drained', () => {
  it('resolves on drain, on the end of the exchange, and on an error, and leaves no listener behind', async () => {
    for (const end of ['drain', 'closed', 'error'] as const) {
      const stream = new PassThrough()
      stream.on('error', () => {})
      const before = stream.eventNames().map((name) => stream.listenerCount(name))
      const closed = new AbortController()
      const waiting = drained(stream, closed.signal)
      if (end === 'closed') closed.abort()
      else if (end === 'drain') stream.emit('drain')
      else stream.emit('error', new Error('reset'))
      await waiting
      expect(stream.eventNames().map((name) => stream.listenerCount(name))).toEqual(before)
    }
  })
})
