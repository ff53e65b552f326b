import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { loudNet } from '../../test/worlds/loud-net.ts'
import { CLIENT_PREFACE, FrameType, frame } from '../http2/wire.ts'
import { ManualClock } from '../telemetry/clock.ts'
import { Http2Connection } from './http2-connection.ts'
import { LAST_FRAMES_TIMEOUT_MS } from './limits.ts'
import { UnsentAnswers } from './unsent-answers.ts'

const atOnce = { add: (job: () => void): void => job() }

/** A socket whose other end reads nothing until the test says so. */
class HeldSocket extends Duplex {
  #goOn: (() => void) | undefined

  override _read(): void {}

  override _write(_bytes: Buffer, _: BufferEncoding, done: () => void): void {
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

function connect(clock: ManualClock): { socket: HeldSocket; connection: Http2Connection } {
  const socket = new HeldSocket()
  const unsent = new UnsentAnswers({ clock, stalled: () => {} }).open(atOnce, () => {})
  const options = {
    peer: { address: '', certificates: [] },
    clock,
    net: loudNet(),
    unsent,
    pingMs: undefined,
    serve: () => {},
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
