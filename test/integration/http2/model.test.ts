/**
 * Random scripts of both ends over random cuts of the bytes between them. Whatever they do to each other by the rules: no
 * byte is lost or made up, no window is overdrawn, no memory is held beyond windows, and every stream ends once.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ErrorCode } from '../../../src/http/http2/wire.ts'
import { other, Pair, type Side, type StreamEnd } from '../../worlds/http2-pair.ts'

const side = fc.constantFrom<Side>('client', 'server')
const which = fc.nat({ max: 7 })
const amount = fc.oneof(fc.constantFrom(0, 1, 16_383, 16_384, 16_385, 65_535, 100_000), fc.nat({ max: 40_000 }))
const windowBytes = fc.constantFrom(0, 1, 100, 16_384, 65_535, 200_000)
const cut = fc.oneof(fc.constantFrom(1, 8, 9, 10, 1_000_000), fc.nat({ max: 30_000 }))

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('open' as const), hasBody: fc.boolean() }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('move' as const), side, bytes: cut }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('write' as const), side, which, bytes: amount }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('end' as const), side, which, hasTrailers: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('endWith' as const), side, which, bytes: amount }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('reset' as const), side, which, code: fc.constantFrom(0, 2, 8) }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('pause' as const), side, which }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('resume' as const), side, which }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('window' as const), side, bytes: windowBytes }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('transport' as const), side, takes: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('ping' as const), side }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('leave' as const), side }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
type StreamStep = Extract<Step, { which: number }>

const widest = 200_000

/** Plays one script and knows, beside the sessions, what must be true of them. */
class Play {
  readonly pair: Pair
  readonly #isAnswered = new Set<StreamEnd>()

  constructor(clientWindow: number, serverWindow: number) {
    this.pair = new Pair({
      client: { streamWindowBytes: clientWindow },
      server: { streamWindowBytes: serverWindow, maxPeerStreams: 6, connectionWindowBytes: 65_535 },
    })
  }

  do(next: Step): void {
    if (next.does === 'open') this.#open(next.hasBody)
    else if (next.does === 'move') this.pair.move(next.side, next.bytes)
    else if (next.does === 'window') this.pair[next.side].session.setStreamWindow(next.bytes)
    else if (next.does === 'ping') this.pair[next.side].session.ping(Buffer.alloc(8))
    else if (next.does === 'leave') this.pair[next.side].session.leave()
    else if (next.does === 'transport') this.#setTransport(next.side, next.takes)
    else this.#onStream(this.#pick(next), next)
    this.#checkHeld()
  }

  /** Everything that holds anything up goes away, and everybody says the last word. */
  finish(): void {
    const { pair } = this
    for (const each of ['client', 'server'] as const) {
      this.#setTransport(each, true)
      pair[each].session.setStreamWindow(65_535)
    }
    for (let round = 0; round < 3; round++) {
      for (const end of this.ends()) end.stream?.resume()
      pair.settle()
      for (const end of this.ends()) this.#close(end)
      pair.settle()
    }
  }

  ends(): StreamEnd[] {
    return [...this.pair.client.streams, ...this.pair.server.streams]
  }

  /** Every stream does the next of these whenever it is told of anything, to itself. */
  setReflexes(steps: readonly Step[]): void {
    const left = [...steps]
    const reflex = (end: StreamEnd): void => {
      const next = left.pop()
      if (next === undefined) return
      if (next.does === 'open') this.#open(next.hasBody)
      else if ('which' in next) this.#onStream(end, next)
      else if (next.does === 'window') this.pair[next.side].session.setStreamWindow(next.bytes)
    }
    this.pair.client.reflex = reflex
    this.pair.server.reflex = reflex
  }

  #open(hasBody: boolean): void {
    if (this.pair.client.goAways === 0 && !this.pair.client.session.isOver) this.pair.client.open(hasBody)
  }

  #pick({ side, which }: StreamStep): StreamEnd | undefined {
    const { streams } = this.pair[side]
    return streams[which % Math.max(1, streams.length)]
  }

  #onStream(end: StreamEnd | undefined, next: StreamStep): void {
    if (end?.stream === undefined) return
    if (next.does === 'pause') end.stream.pause()
    else if (next.does === 'resume') end.stream.resume()
    else if (next.does === 'reset') end.stream.reset(next.code)
    else {
      this.#answer(end)
      if (next.does === 'write') end.write(next.bytes)
      else if (next.does === 'endWith') end.endWith(next.bytes)
      else this.#end(end, next.hasTrailers ? ['x-sum', '1'] : [])
    }
  }

  #answer(end: StreamEnd): void {
    if (end.side === 'client' || this.#isAnswered.has(end)) return
    this.#isAnswered.add(end)
    end.stream?.respond([':status', '200'], false)
  }

  #end(end: StreamEnd, trailers: readonly string[]): void {
    if (!end.hasEnded) end.end(trailers)
  }

  #close(end: StreamEnd): void {
    this.#answer(end)
    this.#end(end, [])
  }

  #setTransport(which: Side, takes: boolean): void {
    this.pair[which].transport.canTakeMore = takes
    if (takes) this.pair[which].session.resume()
  }

  /** What one side has sent and the other not read is never more than the widest window there was. */
  #checkHeld(): void {
    for (const end of this.ends()) {
      const held = this.pair.accountant.bodyBytes(other(end.side), end.id) - end.readBytes
      if (end.resetCode === undefined && held > widest) throw new Error(`${end.side} of ${end.id} holds ${held} bytes`)
    }
  }
}

describe('two sessions that do whatever they may', () => {
  it('every body arrives whole or its stream is broken off; everything ends once', () => {
    const script = fc.array(step, { maxLength: 120, size: 'max' })
    const reflexes = fc.array(step, { maxLength: 40, size: 'max' })
    let [whole, broken] = [0, 0]
    fc.assert(
      fc.property(script, reflexes, windowBytes, windowBytes, (steps, within, clientWindow, serverWindow) => {
        const play = new Play(clientWindow, serverWindow)
        play.setReflexes(within)
        for (const next of steps) play.do(next)
        play.setReflexes([])
        play.finish()
        const { pair } = play
        expect([pair.client.failure, pair.server.failure]).toEqual([undefined, undefined])
        expect([pair.client.session.openStreams, pair.server.session.openStreams]).toEqual([0, 0])
        for (const end of play.ends()) {
          expect(end.isClosed).toBe(true)
          const far = pair[other(end.side)].streams.find(({ id }) => id === end.id)
          if (end.hasEnd) {
            expect(end.readBytes).toBe(far?.writtenBytes)
            whole += 1
          } else {
            expect(end.resetCode).toBeDefined()
            expect(end.readBytes).toBeLessThanOrEqual(far?.writtenBytes ?? 0)
            broken += 1
          }
        }
      }),
      { numRuns: process.env['CAUSEWAY_LONG'] === '1' ? 20_000 : 400 },
    )
    // Scripts that break everything off would prove nothing.
    expect(whole).toBeGreaterThan(broken)
    expect(broken).toBeGreaterThan(0)
  })

  it('any cut of the bytes makes no difference to what comes out', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 30 }), (cuts) => {
        const pair = new Pair()
        const asking = pair.client.open()
        asking.write(5_000)
        asking.end(['x-sum', 'a'])
        pair.server.accept = (end, stream) => {
          stream.respond([':status', '200', 'x-long', 'y'.repeat(300)], false)
          end.within = (event) => {
            if (event === 'end') end.endWith(3_000)
          }
        }
        for (let turn = 0; !asking.isClosed; turn++) {
          const bytes = 1 + (cuts[turn % cuts.length] ?? 0)
          pair.move('client', bytes)
          pair.move('server', bytes)
        }
        const serving = pair.served(asking)
        expect([serving.readBytes, serving.trailers, asking.readBytes]).toEqual([5_000, ['x-sum', 'a'], 3_000])
      }),
      { numRuns: 100 },
    )
  })

  it('the connection lost at any byte: every handler hears its close once, and nothing is taken for whole that is not', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), fc.nat({ max: 200_000 }), (steps, lostAt) => {
        const play = new Play(65_535, 65_535)
        play.setReflexes(steps.slice(0, 20))
        for (const next of steps) play.do(next)
        const { pair } = play
        pair.move('client', lostAt)
        pair.move('server', lostAt)
        pair.client.session.end()
        pair.server.session.end(ErrorCode.internalError)
        play.setReflexes([])
        for (const end of play.ends()) end.stream?.resume()
        for (const end of play.ends()) {
          expect(end.isClosed).toBe(true)
          const far = pair[other(end.side)].streams.find(({ id }) => id === end.id)
          if (end.hasEnd) expect(end.readBytes).toBe(far?.writtenBytes)
        }
      }),
      { numRuns: process.env['CAUSEWAY_LONG'] === '1' ? 10_000 : 300 },
    )
  })
})
