import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import {
  data,
  END_STREAM,
  getFields,
  head,
  naiveDecode,
  postFields,
  RST_STREAM,
  resetStream,
  settings,
  windowUpdate,
} from '../../../test/worlds/http2-naive.ts'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { CLIENT_PREFACE, ErrorCode, FrameType, frame } from '../http2/wire.ts'
import type { StreamingExchange } from './exchange.ts'
import { Http2Connection } from './http2-connection.ts'
import {
  EARLY_ANSWER_LINGER_MS,
  LAST_FRAMES_TIMEOUT_MS,
  MIN_READ_BYTES,
  STALLED_READER_CHECK_MS,
  STALLED_READER_UNDER_PRESSURE_MS,
} from './limits.ts'
import { UnsentAnswers } from './unsent-answers.ts'

/** Not before all that came in one piece has been read. */
const nextTick = { add: (job: () => void): void => process.nextTick(job) }

/** A socket whose other end reads nothing until the test says so. */
class HeldSocket extends Duplex {
  readonly written: Buffer[] = []
  #goOn: (() => void) | undefined

  override _read(): void {}

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.written.push(bytes)
    this.#goOn = done
  }

  destroySoon(): void {
    this.end()
    this.once('finish', () => this.destroy())
  }

  readAll(): void {
    while (this.#goOn !== undefined) {
      const goOn = this.#goOn
      this.#goOn = undefined
      goOn()
    }
  }
}

function connect(
  clock: ManualClock,
  serve: (exchange: StreamingExchange) => void = () => {},
): { socket: HeldSocket; connection: Http2Connection } {
  const socket = new HeldSocket()
  const unsent = new UnsentAnswers({ clock, stalled: () => {} }).open(nextTick, { cut: () => {}, cutStalled: () => 0 })
  const options = {
    peer: { address: '', certificates: [] },
    clock,
    net: loudNet(),
    unsent,
    pingMs: undefined,
    serve,
  }
  return { socket, connection: new Http2Connection(socket as Duplex as TLSSocket, options) }
}

/** Whatever waits for the end of a turn has been done, and what follows from it. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

describe('the end of a connection', () => {
  it('waits for a client that still reads', async () => {
    const clock = new ManualClock()
    const { socket, connection } = connect(clock)
    connection.close()
    await turn()
    await clock.advance(LAST_FRAMES_TIMEOUT_MS - 1)
    expect(socket.destroyed).toBe(false)
    socket.readAll()
    await turn()
    expect(socket.destroyed).toBe(true)
  })

  it('does not wait for one that reads nothing', async () => {
    const clock = new ManualClock()
    const { socket, connection } = connect(clock)
    connection.close()
    await turn()
    await clock.advance(LAST_FRAMES_TIMEOUT_MS)
    expect(socket.destroyed).toBe(true)
  })

  it('does not wait for one that has broken the protocol and reads nothing', async () => {
    const clock = new ManualClock()
    const { socket } = connect(clock)
    socket.push(Buffer.concat([CLIENT_PREFACE, frame(FrameType.settings, 0, 0, 0), frame(FrameType.data, 0, 0, 0)]))
    await turn()
    expect(socket.destroyed).toBe(false)
    await clock.advance(LAST_FRAMES_TIMEOUT_MS)
    expect(socket.destroyed).toBe(true)
  })
})

describe('a client that is answered before it has sent its request', () => {
  /** The resets that it gets, and how many requests are under way. */
  async function answered(...more: Buffer[]) {
    const clock = new ManualClock()
    const exchanges: StreamingExchange[] = []
    const { socket, connection } = connect(clock, (exchange) => {
      exchanges.push(exchange)
      exchange.respond(404, {}, Buffer.from('not here'))
    })
    socket.push(Buffer.concat([CLIENT_PREFACE, settings(), head(1, [...postFields, 'content-length', '8'])]))
    await turn()
    expect(connection.openStreams).toBe(0)
    expect(exchanges.map(({ ending }) => ending.aborted)).toEqual([true])
    for (const frames of more) socket.push(frames)
    await turn()
    const resets = async (): Promise<(readonly [id: number, code: number])[]> => {
      socket.readAll()
      await turn()
      const { frames } = naiveDecode(Buffer.concat(socket.written))
      const all = frames.filter(({ type }) => type === RST_STREAM)
      return all.map(({ streamId, payload }) => [streamId, payload.readUInt32BE(0)])
    }
    return { clock, socket, resets }
  }

  it('may send the rest of it', async () => {
    const { clock, resets } = await answered(data(1, Buffer.alloc(4)), data(1, Buffer.alloc(4), END_STREAM))
    await clock.advance(EARLY_ANSWER_LINGER_MS)
    expect(await resets()).toEqual([])
  })

  it('is told to stop after a while', async () => {
    const { clock, resets } = await answered(data(1, Buffer.alloc(4)))
    await clock.advance(EARLY_ANSWER_LINGER_MS - 1)
    expect(await resets()).toEqual([])
    await clock.advance(1)
    expect(await resets()).toEqual([[1, ErrorCode.noError]])
  })

  it('is held to what it has announced', async () => {
    const { clock, resets } = await answered(data(1, Buffer.alloc(9)))
    await clock.advance(EARLY_ANSWER_LINGER_MS)
    expect(await resets()).toEqual([[1, ErrorCode.protocolError]])
  })

  it('may break off itself', async () => {
    const { clock, resets } = await answered(resetStream(1, ErrorCode.noError))
    await clock.advance(EARLY_ANSWER_LINGER_MS)
    expect(await resets()).toEqual([])
  })

  it('leaves nothing behind when its connection goes', async () => {
    const { clock, socket } = await answered()
    const before = clock.pending
    socket.destroy()
    await turn()
    expect(clock.pending).toBeLessThan(before)
    expect(clock.nextDueMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(EARLY_ANSWER_LINGER_MS)
  })
})

describe('answers that stop while others wait for their memory', () => {
  const windowBytes = 64 * 1024
  const answerBytes = 16 * windowBytes
  const initialWindow = 4

  /** So many answers under way, each as far as its own window allows. */
  async function answering(count: number, connectionBytes = count * answerBytes) {
    const clock = new ManualClock()
    const { socket, connection } = connect(clock, (exchange) => exchange.respond(200, {}, Buffer.alloc(answerBytes)))
    const read = async (...frames: Buffer[]): Promise<void> => {
      socket.push(Buffer.concat(frames))
      for (let each = 0; each < 8; each += 1) {
        await turn()
        socket.readAll()
      }
    }
    const requests = Array.from({ length: count }, (_, index) => head(2 * index + 1, getFields, END_STREAM))
    await read(CLIENT_PREFACE, settings([initialWindow, windowBytes]), windowUpdate(0, connectionBytes), ...requests)
    const resets = (): number[] => {
      const { frames } = naiveDecode(Buffer.concat(socket.written))
      return frames.filter(({ type }) => type === RST_STREAM).map(({ streamId }) => streamId)
    }
    /** What the looks of so long a time cut, while `meanwhile` happens before each. */
    const look = async (durationMs: number, meanwhile: () => Promise<void> = async () => {}): Promise<number> => {
      let bytes = 0
      for (let passedMs = 0; passedMs <= durationMs; passedMs += STALLED_READER_CHECK_MS) {
        await meanwhile()
        bytes += connection.cutStalled(clock.monotonicMs())
        await clock.advance(STALLED_READER_CHECK_MS)
      }
      await read()
      return bytes
    }
    return { clock, socket, connection, read, resets, look }
  }

  it('are cut, and those that are read are not', async () => {
    const { connection, read, resets, look } = await answering(3)
    const bytes = await look(STALLED_READER_UNDER_PRESSURE_MS, () => read(windowUpdate(3, MIN_READ_BYTES)))
    expect(resets()).toEqual([1, 5])
    expect(bytes).toBe(2 * (answerBytes - windowBytes))
    expect(connection.openStreams).toBe(1)
  })

  it('have their time from the first look on', async () => {
    const { clock, look, resets } = await answering(1)
    await clock.advance(10 * STALLED_READER_UNDER_PRESSURE_MS)
    expect(await look(STALLED_READER_UNDER_PRESSURE_MS - STALLED_READER_CHECK_MS)).toBe(0)
    expect(resets()).toEqual([])
  })

  it('have it again where nobody has looked for a while', async () => {
    const { clock, look, resets } = await answering(1)
    await look(STALLED_READER_UNDER_PRESSURE_MS - STALLED_READER_CHECK_MS)
    await clock.advance(10 * STALLED_READER_UNDER_PRESSURE_MS)
    expect(await look(0)).toBe(0)
    expect(resets()).toEqual([])
  })

  it('are cut too where a byte is taken now and then', async () => {
    const { read, resets, look } = await answering(1)
    await look(STALLED_READER_UNDER_PRESSURE_MS, () => read(windowUpdate(1, 1)))
    expect(resets()).toEqual([1])
  })

  it('are left alone where it is the connection that stops', async () => {
    const { resets, look } = await answering(2, 0)
    expect(await look(4 * STALLED_READER_UNDER_PRESSURE_MS)).toBe(0)
    expect(resets()).toEqual([])
  })
})
