import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { collect, collectText, drive, settled } from '../../test/worlds/yamux-drivers.ts'
import { duplexPair } from '../../test/worlds/yamux-duplex-pair.ts'
import { memoryCarriers } from '../../test/worlds/yamux-wire-carrier.ts'
import { ManualClock } from '../runtime/clock.ts'
import { type RelayResult, relay } from './relay.ts'
import type { TunnelStream } from './tunnel-stream.ts'

describe('relay', () => {
  let server: Server
  let sockets: Socket[]
  let results: Promise<RelayResult>[]

  beforeEach(async () => {
    sockets = []
    results = []
    server = createServer({ allowHalfOpen: true }, (socket) => void sockets.push(socket.on('error', () => {})))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })

  afterEach(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  /** A stream whose far end is joined with a TCP connection, and the target's end of that connection. */
  async function open(): Promise<{ stream: TunnelStream; target: Socket }> {
    const [near, far] = memoryCarriers()
    const { port } = server.address() as { port: number }
    const pair = drive(near, far, {
      serve: (stream) => {
        stream.accept()
        results.push(relay(stream, connect({ port, host: '127.0.0.1', allowHalfOpen: true })))
      },
    })
    const stream = pair.client.driver.open().on('error', () => {})
    const target = await new Promise<Socket>((resolve) => server.once('connection', resolve))
    return { stream, target }
  }

  it('carries megabytes both ways and counts them', async () => {
    const { stream, target } = await open()
    const sent = Buffer.alloc(3 * 1024 * 1024).map((_, index) => index * 11)
    target.pipe(target)
    stream.end(sent)
    expect((await collect(stream)).equals(sent)).toBe(true)
    expect(await results[0]).toEqual({ toSocketBytes: sent.length, toTunnelBytes: sent.length, error: undefined })
  })

  it('passes an end on as an end, in each direction by itself', async () => {
    const { stream, target } = await open()
    const heard = new Promise((resolve) => target.once('end', resolve))
    target.resume()
    stream.end('question')
    await heard
    target.end('answer')
    expect(await collectText(stream)).toBe('answer')
    expect(await results[0]).toMatchObject({ error: undefined })
  })

  it('hears a target that speaks first and leaves at once', async () => {
    const { stream, target } = await open()
    target.end('220 ready')
    expect(await collectText(stream)).toBe('220 ready')
    stream.end()
    expect(await results[0]).toMatchObject({ toTunnelBytes: 9, error: undefined })
  })

  it('passes a reset of the stream on to the socket', async () => {
    const { stream, target } = await open()
    const closed = new Promise((resolve) => target.once('close', resolve))
    target.resume()
    stream.destroy()
    await closed
    expect(await results[0]).toMatchObject({ error: { code: 'reset-by-peer' } })
  })

  it('passes a reset of the socket on to the stream', async () => {
    const { stream, target } = await open()
    const failed = new Promise<Error>((resolve) => stream.once('error', resolve))
    target.resetAndDestroy()
    expect(await failed).toMatchObject({ code: 'reset-by-peer' })
    expect(await results[0]).toMatchObject({ error: { code: 'ECONNRESET' } })
  })

  it('stops reading from the tunnel while the target does not read', async () => {
    const { stream, target } = await open()
    target.pause()
    let written = 0
    const chunk = Buffer.alloc(64 * 1024)
    const fill = (): void => {
      while (written < 64 * 1024 * 1024) {
        written += chunk.length
        if (!stream.write(chunk)) return
      }
    }
    stream.on('drain', fill)
    fill()
    for (let turn = 0; turn < 20; turn++) await settled()
    expect(written).toBeLessThan(64 * 1024 * 1024)
    stream.destroy()
    await results[0]
  })
})

describe('relay of a stream without half-close', () => {
  function open() {
    const clock = new ManualClock()
    const [stream, peer] = duplexPair()
    stream.allowHalfOpen = false
    const [socket, target] = duplexPair()
    for (const side of [stream, peer, socket, target]) side.on('error', () => {})
    const result = relay(stream, socket, { linger: { clock, maxMs: 1_000 } })
    return { clock, stream, peer, socket, target, result }
  }

  it('gives the socket its last bytes, and its time to say goodbye, after the stream has closed', async () => {
    const { clock, stream, peer, socket, target, result } = open()
    const heard = collectText(target)
    peer.resume()
    peer.end('last words')
    expect(await heard).toBe('last words')
    await settled()
    expect([stream.destroyed, socket.destroyed]).toEqual([true, false])
    await clock.advance(1_000)
    expect(await result).toMatchObject({ toSocketBytes: 10, error: undefined })
    expect(socket.destroyed).toBe(true)
  })

  it('reads a socket on that nobody hears any more', async () => {
    const { peer, target, result } = open()
    target.resume()
    peer.resume()
    peer.end()
    await settled()
    target.end(Buffer.alloc(1024 * 1024))
    expect(await result).toMatchObject({ toTunnelBytes: 0, error: undefined })
  })

  it('does not cut off what a socket has sent before it went', async () => {
    const { peer, target, socket, result } = open()
    target.end('bye')
    await settled()
    socket.destroy()
    expect(await collectText(peer)).toBe('bye')
    peer.end()
    expect(await result).toMatchObject({ toTunnelBytes: 3, error: undefined })
  })

  it('cuts the socket when the stream fails', async () => {
    const { stream, socket, result } = open()
    stream.destroy(new Error('the link broke'))
    expect(await result).toMatchObject({ error: { message: 'the link broke' } })
    expect(socket.destroyed).toBe(true)
  })
})
