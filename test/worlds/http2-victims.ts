/** Sessions under attack with a stream that must not suffer from it. */
import { expect } from 'vitest'
import type { SessionOptions } from '../../src/http/http2/session-options.ts'
import { data, END_STREAM, getFields, HEADERS, head, postFields, RST_STREAM } from './http2-naive.ts'
import { contents, nameOf, Victim } from './http2-pair.ts'

export const okFields: readonly string[] = [':status', '200']

/** The resets among what the victim has answered, by the names of their codes. */
export function resetsIn(victim: Victim): Record<number, string> {
  const resets = victim.answers().filter(({ type }) => type === RST_STREAM)
  return Object.fromEntries(resets.map(({ streamId, payload }) => [streamId, nameOf(payload.readUInt32BE(0))]))
}

/** A server with stream 1 open for its body and stream 3 complete but for its answer. */
export function server(options: Partial<SessionOptions> = {}): Victim {
  const victim = new Victim('server', options)
  victim.attack(head(1, postFields), head(3, getFields, END_STREAM))
  return victim
}

/** A client that waits for the answers of streams 1 and 3; 1 is still sending. */
export function client(options: Partial<SessionOptions> = {}): Victim {
  const victim = new Victim('client', options)
  victim.end.open()
  victim.end.open(false)
  victim.answers()
  return victim
}

/** The body of stream 1 still comes through, and stream 3 can be answered. */
export function expectHealthy(victim: Victim): void {
  expect(victim.failureCode).toBeUndefined()
  const [first, second] = victim.end.streams
  victim.answers()
  victim.attack(data(1, contents(1, 'client', first?.readBytes ?? 0, 10), END_STREAM))
  expect(first?.hasEnd).toBe(true)
  second?.stream?.respond(okFields, true)
  expect(victim.answers()).toEqual([expect.objectContaining({ type: HEADERS, streamId: 3 })])
  expect(second?.isClosed).toBe(true)
}
