import { EventEmitter } from 'node:events'
import { constants, type ServerHttp2Session } from 'node:http2'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../telemetry/clock.ts'
import { endWhenResetting, MAX_STREAM_RESETS_AT_ONCE, MAX_STREAM_RESETS_PER_SECOND } from './reset-limit.ts'

function session(clock: ManualClock) {
  const emitter = new EventEmitter()
  const ends: unknown[] = []
  const destroy = (_error: unknown, code: number): void => void ends.push(code)
  endWhenResetting(Object.assign(emitter, { destroy }) as unknown as ServerHttp2Session, clock)
  const stream = (end: { rstCode?: number; aborted?: boolean }, times = 1): void => {
    for (let count = 0; count < times; count += 1) {
      const opened = Object.assign(new EventEmitter(), { rstCode: 0, aborted: false, ...end })
      emitter.emit('stream', opened)
      opened.emit('close')
    }
  }
  return { ends, stream }
}

describe('endWhenResetting', () => {
  it('ends a session that breaks off more streams than anybody needs to', () => {
    const { ends, stream } = session(new ManualClock())
    stream({ rstCode: constants.NGHTTP2_CANCEL }, MAX_STREAM_RESETS_AT_ONCE - 1)
    stream({ aborted: true })
    stream({}, 10_000)
    expect(ends).toEqual([])
    stream({ rstCode: constants.NGHTTP2_CANCEL })
    expect(ends).toEqual([constants.NGHTTP2_ENHANCE_YOUR_CALM])
  })

  it('lets one go on that does it now and then', async () => {
    const clock = new ManualClock()
    const { ends, stream } = session(clock)
    stream({ rstCode: constants.NGHTTP2_CANCEL }, MAX_STREAM_RESETS_AT_ONCE)
    for (let second = 0; second < 100; second += 1) {
      await clock.advance(1_000)
      stream({ rstCode: constants.NGHTTP2_CANCEL }, MAX_STREAM_RESETS_PER_SECOND)
    }
    expect(ends).toEqual([])
  })
})
