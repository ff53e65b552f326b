import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { expect, it } from 'vitest'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { upstreamRequest } from '../../../test/worlds/upstream-world.ts'
import { settingsFrame } from '../../http/http2/settings.ts'
import { FrameType, frame } from '../../http/http2/wire.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { H2Connection } from './h2-connection.ts'

/** A connection whose API server is the test: it pushes what arrives, and nobody reads what is sent. */
class ByHand extends Duplex {
  readonly bytesRead = 0
  override _read(): void {}
  override _write(_bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done()
  }
}

it('tells requests under way how the API server has broken the protocol', async () => {
  const socket = new ByHand()
  const secured = { socket: socket as unknown as TLSSocket, carrier: socket, whyLost: () => undefined }
  const options = { secured, serverName: 'api.example', clock: new ManualClock(), net: loudNet(), rttMs: () => 20 }
  const connection = new H2Connection(options, { peerTakes() {}, goingAway() {}, finished() {}, closed() {} })
  socket.push(settingsFrame([]))
  const outcome = connection.send(upstreamRequest())
  const dataOfNoStream = frame(FrameType.data, 0, 0, 1)
  socket.push(dataOfNoStream)
  expect(await outcome).toMatchObject({ failure: { kind: 'broken', message: expect.stringMatching(/stream 0/) } })
  expect(connection.isUsable).toBe(false)
})
