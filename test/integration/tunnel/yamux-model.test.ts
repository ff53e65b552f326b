/** Two sessions against the naive model: whatever is done, in whatever order and cut however, the same bytes come out. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type End, Pair, type Side, type StreamEnd } from '../../worlds/yamux-pair.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
const bytesPerOperation = 3
const operationsPerRun = 250
const runs = isLong ? 8_000 : 100

const sizes = [0, 1, 2, 11, 12, 13, 100, 511, 512, 4_096, 16_384, 65_536, 70_000, 300_000]
const pieces = [1, 2, 5, 11, 12, 13, 100, 1_400, 16_384, 65_536]

describe('sessions and the naive model', () => {
  it('end in the same bytes after any operations with any chunking', () => {
    let performed = 0
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: operationsPerRun * bytesPerOperation, size: 'max' }), (script) => {
        const pair = new Pair({
          limits: { maxOpensPerSecond: 1e9, maxIdleFramesPerSecond: 1e9, maxPingsPerSecond: 1e9 },
        })
        for (let offset = 0; offset + bytesPerOperation <= script.length; offset += bytesPerOperation) {
          perform(pair, script[offset] ?? 0, script[offset + 1] ?? 0, script[offset + 2] ?? 0)
          performed += 1
        }
        finish(pair)
        compare(pair.client, pair.server)
        compare(pair.server, pair.client)
      }),
      { numRuns: runs },
    )
    expect(performed).toBeGreaterThan(isLong ? 900_000 : 5_000)
  })
})

interface Operand {
  readonly pair: Pair
  readonly side: Side
  readonly stream: StreamEnd | undefined
  readonly which: number
  readonly amount: number
  readonly size: number
}

/** What can happen; what happens more often stands here more often. */
const operations: readonly ((operand: Operand) => void)[] = [
  ({ pair, side }) => pair[side].streams.size < 12 && pair[side].open(),
  ...repeat(4, ({ stream, size }) => stream?.write(size)),
  ...repeat(2, ({ stream }) => stream?.readOne()),
  ({ stream }) => stream?.readAll(),
  ({ stream, amount }) => amount < 80 && stream?.end(),
  ({ stream, amount }) => amount < 25 && stream?.reset(),
  ...repeat(2, ({ pair, side, size }) => pair.send(side, size)),
  ...repeat(3, ({ pair, side, size, which }) => pair.deliver(side, size, pieces[which % pieces.length])),
  ({ pair, amount }) => pair.clock.advance(amount / 8),
  ({ pair, side, stream, amount }) => {
    pair[side].session.tick()
    if (stream !== undefined) stream.isEager = amount % 2 === 0
  },
]

function repeat(times: number, operation: (operand: Operand) => void): ((operand: Operand) => void)[] {
  return Array.from({ length: times }, () => operation)
}

/** One operation, told by three bytes: what, on which stream, how much. */
function perform(pair: Pair, what: number, which: number, amount: number): void {
  const side: Side = (what & 1) === 0 ? 'client' : 'server'
  const size = sizes[amount % sizes.length] ?? 0
  operations[(what >> 1) % operations.length]?.({ pair, side, stream: pick(pair[side], which), which, amount, size })
}

function pick(end: End, which: number): StreamEnd | undefined {
  const all = [...end.streams.values()]
  return all[which % Math.max(1, all.length)]
}

/** Everybody reads everything and ends what is open. */
function finish(pair: Pair): void {
  for (const end of [pair.client, pair.server]) {
    for (const stream of end.streams.values()) {
      stream.isEager = true
      stream.readAll()
      stream.end()
    }
  }
  for (let round = 0; round < 3; round++) {
    pair.settle()
    for (const end of [pair.client, pair.server]) {
      for (const stream of end.streams.values()) {
        stream.isEager = true
        stream.readAll()
        stream.end()
      }
    }
  }
  pair.settle()
}

function compare(writer: End, reader: End): void {
  expect(writer.error).toBeUndefined()
  expect(writer.session.streamCount).toBe(0)
  expect(writer.budget.bufferedBytes).toBe(0)
  expect(writer.budget.windowBytes).toBe(0)
  for (const [id, written] of writer.streams) {
    const read = reader.streams.get(id)
    // A stream that was reset before it left has never existed for the other end.
    if (read === undefined) expect(written.isReset).toBe(true)
    else if (written.isOver || read.isOver) expect(read.readBytes).toBeLessThanOrEqual(written.writtenBytes)
    else expect([read.readBytes, read.sawEnd]).toEqual([written.writtenBytes, true])
    if (written.isReset && read !== undefined && !read.sawEnd) expect(read.isOver).toBe(true)
  }
}
