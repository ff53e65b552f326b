import { connect } from 'node:net'
import { type Duplex, PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../test/worlds/hub-world.ts'
import { type FrontDial, startGrpcFront } from '../../../test/worlds/konnectivity-front.ts'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import { startCall } from '../../tunnel/grpc/client-call.ts'
import type { Packet } from '../../tunnel/konnectivity/packet.ts'
import { GrpcPacketPort, type SentPacket } from '../../tunnel/konnectivity/packet-port.ts'
import { PROXY_PATH } from '../../tunnel/konnectivity/service.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { FRONT_LINGER_MS } from './connect-connection.ts'

interface Client {
  readonly received: Packet[]
  readonly closed: Promise<Error | undefined>
  readonly send: (packet: SentPacket) => void
}

async function call(socketPath: string, path = PROXY_PATH): Promise<Client> {
  const socket = connect({ path: socketPath })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  const started = await startCall({
    socket,
    authority: 'front',
    scheme: 'http',
    path,
    metadata: {},
    signal: new AbortController().signal,
  })
  const received: Packet[] = []
  let onClosed = (_error: Error | undefined): void => {}
  const closed = new Promise<Error | undefined>((resolve) => {
    onClosed = resolve
  })
  const port = new GrpcPacketPort(started.stream, systemClock, {
    receive: (packet) => received.push(packet),
    closed: onClosed,
  })
  return { received, closed, send: (packet) => port.send(packet) }
}

async function client(dial: FrontDial): Promise<Client> {
  return await call(await startGrpcFront(dial))
}

const request = (address: string, random = 7n): SentPacket => ({
  type: 'dial-request',
  protocol: 'tcp',
  address,
  random,
})
const connected = { type: 'dial-response', random: 7n, connectId: 1, error: '' }

describe('the konnectivity front', () => {
  it('connects, passes bytes both ways, and ends the call with the connection', async () => {
    const asked: string[] = []
    const { received, send, closed } = await client(async (host, port) => {
      asked.push(`${host} ${port}`)
      return new PassThrough()
    })
    send(request('edge-1:10250'))
    await eventually(() => expect(received).toEqual([connected]))
    send({ type: 'data', connectId: 1, data: Buffer.from('echo') })
    await eventually(() => expect(received[1]).toEqual({ type: 'data', connectId: 1, data: Buffer.from('echo') }))
    send({ type: 'close-request', connectId: 1 })
    expect(await closed).toBeUndefined()
    expect(received[2]).toEqual({ type: 'close-response', connectId: 1, error: '' })
    expect(asked).toEqual(['edge-1 10250'])
  })

  it('tells the end of the destination after its last byte', async () => {
    const target = new PassThrough()
    const { received, send, closed } = await client(async () => target)
    send(request('[FD00::1]:443'))
    await eventually(() => expect(received).toEqual([connected]))
    target.end('bye')
    await closed
    expect(received.slice(1)).toEqual([
      { type: 'data', connectId: 1, data: Buffer.from('bye') },
      { type: 'close-response', connectId: 1, error: '' },
    ])
  })

  it.each([
    ['refused', 'connection refused'],
    ['no-route', 'no-route: because'],
    ['denied', 'denied: because'],
    ['timeout', 'i/o timeout'],
  ] as const)('says why a destination cannot be had: %s', async (code, words) => {
    const { received, send, closed } = await client(() => Promise.reject(new OpenError(code, 'because')))
    send(request('edge-1:10250'))
    expect(await closed).toBeUndefined()
    expect(received).toEqual([
      { type: 'dial-response', random: 7n, connectId: 0, error: expect.stringContaining(words) },
    ])
  })

  it.each(['edge-1', 'edge-1:0', 'edge 1:80', 'edge-1:99999', '127.1:80', 'user@edge-1:80'])(
    'asks nobody for "%s"',
    async (address) => {
      let asked = 0
      const { received, send, closed } = await client(async () => {
        asked++
        return new PassThrough()
      })
      send(request(address))
      await closed
      expect([asked, received[0]]).toEqual([0, expect.objectContaining({ connectId: 0 })])
    },
  )

  it('gives up a dial that the client gives up, by word or by leaving', async () => {
    const signals: AbortSignal[] = []
    const path = await startGrpcFront((_host, _port, { signal }) => {
      if (signal !== undefined) signals.push(signal)
      return new Promise<Duplex>(() => {})
    })
    const speaking = await call(path)
    speaking.send(request('edge-1:1'))
    speaking.send({ type: 'dial-close', random: 7n })
    expect(await speaking.closed).toBeUndefined()
    const socket = connect({ path })
    const leaving = await startCall({
      socket,
      authority: 'front',
      scheme: 'http',
      path: PROXY_PATH,
      metadata: {},
      signal: new AbortController().signal,
    })
    new GrpcPacketPort(leaving.stream, systemClock, { receive: () => {}, closed: () => {} }).send(request('edge-1:2'))
    await eventually(() => expect(signals.length).toBe(2))
    socket.destroy()
    await eventually(() => expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]))
  })

  it('serves one connection per call', async () => {
    const { received, send } = await client(async () => new PassThrough())
    send(request('edge-1:1', 7n))
    await eventually(() => expect(received).toEqual([connected]))
    send(request('edge-1:2', 8n))
    send({ type: 'data', connectId: 2, data: Buffer.from('x') })
    await eventually(() => expect(received.length).toBe(3))
    expect(received.slice(1)).toMatchObject([
      { type: 'dial-response', random: 8n, connectId: 0 },
      { type: 'close-response', connectId: 2, error: 'unrecognized connectID' },
    ])
  })

  it('tells a client that may not use it so, and keeps no connection for it', async () => {
    const clock = new ManualClock()
    const path = await startGrpcFront(async () => new PassThrough(), { clock, refusal: 'not you' })
    await expect(call(path)).rejects.toMatchObject({ code: 7, message: expect.stringContaining('not you') as string })
    await eventually(() => expect(clock.pending).toBe(0))
    const socket = connect({ path }).resume()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await eventually(() => expect(clock.pending).toBe(1))
    await clock.advance(FRONT_LINGER_MS)
    await closed
  })

  it('serves nothing else', async () => {
    const path = await startGrpcFront(async () => new PassThrough())
    await expect(call(path, '/AgentService/Connect')).rejects.toMatchObject({ code: 12 })
  })
})
