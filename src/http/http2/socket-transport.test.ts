import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { SessionEvents } from './session-options.ts'
import { settingsFrame } from './settings.ts'
import { MAX_UNREAD_ANSWER_BYTES, MAX_UNSENT_CONNECTION_BYTES, SocketTransport } from './socket-transport.ts'
import type { Http2Stream } from './stream.ts'
import { CLIENT_PREFACE, Flag, FRAME_HEADER_BYTES, FrameType, frame, MAX_FRAME_BYTES } from './wire.ts'

/** A socket whose other end reads when the test says so. */
class HeldSocket extends Duplex {
  readonly writes: Buffer[] = []
  #goOn: (() => void) | undefined

  override _read(): void {}

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.writes.push(bytes)
    this.#goOn = done
  }

  /** The other end reads what was written. */
  read1(): boolean {
    const goOn = this.#goOn
    this.#goOn = undefined
    goOn?.()
    return goOn !== undefined
  }
}

const options = {
  role: 'server',
  streamWindowBytes: 65_535,
  connectionWindowBytes: 65_535,
  maxPeerStreams: 100,
  maxHeadBytes: 10_000,
  maxHeadFields: 100,
  nowMs: () => 0,
} as const

/** Whatever waits for the end of a turn has been done, and what follows from it. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

/** GET https / with the static table alone. */
function request(id: number): Buffer {
  const bytes = frame(FrameType.headers, Flag.endHeaders | Flag.endStream, id, 6)
  bytes.set([0x82, 0x87, 0x84, 0x41, 1, 0x61], FRAME_HEADER_BYTES)
  return bytes
}

function windowUpdate(id: number, bytes: number): Buffer {
  const update = frame(FrameType.windowUpdate, 0, id, 4)
  update.writeUInt32BE(bytes, FRAME_HEADER_BYTES)
  return update
}

function begin(onStream: (stream: Http2Stream) => void) {
  const socket = new HeldSocket()
  const silent = { onHead() {}, onData() {}, onEnd() {}, onDrain() {}, onSent() {}, onClose() {} }
  const events: SessionEvents = {
    onStream: (stream) => {
      onStream(stream)
      return silent
    },
    onPeerLimit() {},
    onGoAway() {},
    onPong() {},
    onFailure() {},
  }
  const transport = new SocketTransport(socket, options, events, (action) => void action())
  socket.push(Buffer.concat([CLIENT_PREFACE, settingsFrame([])]))
  return { socket, transport }
}

describe('a session on a socket', () => {
  it('sends what came up in one turn as one write', async () => {
    const { socket } = begin((stream) => {
      stream.respond([':status', '200'], false)
      stream.endWith(Buffer.from('hello'))
    })
    await turn()
    while (socket.read1()) await turn()
    const before = socket.writes.length
    socket.push(Buffer.concat([request(1), request(3)]))
    await turn()
    expect(socket.writes).toHaveLength(before + 1)
  })

  it('holds bodies back from a peer that does not read, and goes on when it does', async () => {
    const size = 2_000_000
    const { socket, transport } = begin((stream) => {
      stream.respond([':status', '200'], false)
      stream.endWith(Buffer.alloc(size))
    })
    socket.push(Buffer.concat([windowUpdate(0, 2 ** 30), request(1), windowUpdate(1, 2 ** 30)]))
    for (let count = 0; count < 10; count++) await turn()
    expect(socket.writableLength).toBeLessThan(MAX_UNSENT_CONNECTION_BYTES + MAX_FRAME_BYTES + 1_000)
    expect(transport.canTakeMore).toBe(false)
    while (socket.read1()) await turn()
    const sent = socket.writes.reduce((sum, { length }) => sum + length, 0)
    expect(sent).toBeGreaterThan(size)
    expect(transport.session.openStreams).toBe(0)
  })

  it('reads no more from a peer that does not read its answers, and all of it once it does', async () => {
    let answered = 0
    const { socket } = begin((stream) => {
      answered += 1
      stream.respond([':status', '200', 'x-long', `${answered}`.padEnd(5_000, '#')], true)
    })
    const total = 1_000
    for (let count = 0; count < total; count++) socket.push(request(2 * count + 1))
    for (let count = 0; count < 10; count++) await turn()
    expect(socket.isPaused()).toBe(true)
    expect(answered).toBeLessThan(total)
    expect(socket.writableLength).toBeLessThan(MAX_UNREAD_ANSWER_BYTES + 64 * 1024)
    expect(socket.writableLength).toBeGreaterThanOrEqual(MAX_UNREAD_ANSWER_BYTES)
    while (socket.read1()) await turn()
    expect(answered).toBe(total)
    expect(socket.isPaused()).toBe(false)
  })

  it('writes nothing to a socket that is gone, and ends with it', async () => {
    const { socket, transport } = begin(() => {})
    await turn()
    const before = socket.writes.length
    transport.session.ping(Buffer.alloc(8))
    socket.destroy()
    transport.send(Buffer.from('late'))
    await turn()
    expect(socket.writes).toHaveLength(before)
    expect(transport.session.isOver).toBe(true)
  })

  it('writes nothing behind the end that its owner has written', async () => {
    const { socket, transport } = begin(() => {})
    await turn()
    while (socket.read1()) await turn()
    socket.end()
    transport.session.ping(Buffer.alloc(8))
    await turn()
    expect(socket.errored).toBeNull()
  })
})
