/** The hub's end of a WebSocket against clients that do not behave, with frames made by hand. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listen } from '../../../src/network/listen.ts'
import { ManualClock } from '../../../src/runtime/clock.ts'
import {
  acceptInnerTls,
  acceptWebSocket,
  requestedProtocol,
  UpgradeRequestError,
} from '../../../src/tunnel/carriers/accept-websocket.ts'
import {
  MAX_IDLE_WEBSOCKET_MESSAGES_AT_ONCE,
  MAX_IDLE_WEBSOCKET_MESSAGES_PER_SECOND,
  MAX_WEBSOCKET_FRAGMENTS,
  MAX_WEBSOCKET_MESSAGE_BYTES,
} from '../../../src/tunnel/carriers/websocket-stream.ts'

type Upgrade = [request: IncomingMessage, socket: Duplex, head: Buffer]

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
const goodHeaders = {
  upgrade: 'websocket',
  connection: 'Upgrade',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
  'sec-websocket-protocol': 'causeway.v1',
}

interface FrameOptions {
  readonly isLast?: boolean
  readonly isMasked?: boolean
  /** The length it says it has. */
  readonly claimedBytes?: number
}

/** A client's frame; the mask is zero, so that the payload stays as it is. */
function frame(kind: keyof typeof opcodes, text: string, options: FrameOptions = {}): Buffer {
  const payload = Buffer.from(text, 'latin1')
  const { isLast = true, isMasked = true, claimedBytes = payload.length } = options
  const header = Buffer.alloc(claimedBytes < 126 ? 2 : 10)
  header[0] = opcodes[kind] | (isLast ? 0x80 : 0)
  header[1] = (claimedBytes < 126 ? claimedBytes : 127) | (isMasked ? 0x80 : 0)
  if (claimedBytes >= 126) header.writeBigUInt64BE(BigInt(claimedBytes), 2)
  return Buffer.concat([header, Buffer.alloc(isMasked ? 4 : 0), payload])
}

const server = createServer()
const clock = new ManualClock()
let port = 0
const sockets: Duplex[] = []
beforeEach(async () => {
  port = (await listen(server, { host: '127.0.0.1', port: 0 })).port
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

async function request(headers: Record<string, string>, method = 'GET', after: Uint8Array = Buffer.alloc(0)) {
  const upgraded = once(server, 'upgrade') as Promise<Upgrade>
  const client = connect({ port, host: '127.0.0.1' })
  sockets.push(client.on('error', () => {}))
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  client.write(
    Buffer.concat([Buffer.from(`${method} /v1/tunnel HTTP/1.1\r\nhost: hub\r\n${lines.join('')}\r\n`), after]),
  )
  const upgrade = await upgraded
  // Nobody else looks after it where the request is refused.
  sockets.push(upgrade[1])
  return { client, upgrade }
}

/** An open WebSocket; `client` has not read even the answer yet. */
async function open(after?: Uint8Array) {
  const { client, upgrade } = await request(goodHeaders, 'GET', after)
  const carrier = acceptWebSocket(...upgrade, clock)
  let received = ''
  let wake: () => void = () => {}
  const closed = new Promise<Error | undefined>((resolve) => {
    carrier.start({
      onBytes: (chunk) => {
        received += Buffer.from(chunk).toString()
        wake()
      },
      onDrain: () => {},
      onClose: resolve,
    })
  })
  const until = async (text: string): Promise<void> => {
    while (!received.includes(text)) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { client, carrier, closed, until, socket: upgrade[1], received: () => received }
}

describe('a WebSocket at the hub', () => {
  it('delivers what came along with the request', async () => {
    const { until, received } = await open(Buffer.concat([frame('binary', 'he'), frame('binary', 'llo')]))
    await until('hello')
    expect(received()).toBe('hello')
  })

  it('puts fragments together, with pings in between, and takes empty messages for nothing', async () => {
    const { client, until, received } = await open()
    client.write(frame('binary', 'one ', { isLast: false }))
    client.write(frame('ping', 'still there?'))
    client.write(frame('continuation', 'two'))
    client.write(frame('binary', ''))
    client.write(frame('binary', '!'))
    await until('!')
    expect(received()).toBe('one two!')
  })

  it('answers a ping with its own words', async () => {
    const { client } = await open()
    let answers = ''
    client.on('data', (chunk: Buffer) => {
      answers += chunk.toString('latin1')
    })
    client.write(frame('ping', 'are you there'))
    while (!answers.includes('\x8a\x0dare you there')) await once(client, 'data')
    expect(answers).toMatch(/^HTTP\/1.1 101 [\s\S]*Sec-WebSocket-Protocol: causeway.v1\r\n/)
  })

  it('keeps no answers for who pings and does not read', async () => {
    const { client, until, socket } = await open()
    client.pause()
    const pings = Buffer.concat(
      Array.from({ length: MAX_IDLE_WEBSOCKET_MESSAGES_PER_SECOND }, () => frame('ping', 'x'.repeat(125))),
    )
    for (let count = 0; count < 1_000; count++) {
      client.write(Buffer.concat([pings, frame('binary', `${count}.`)]))
      await until(`${count}.`)
      await clock.advance(1_000)
    }
    expect(socket.writableLength).toBeLessThan(64 * 1024)
  })

  it.each(['ping', 'pong', 'binary'] as const)(
    'cuts off who sends messages for nothing without end: %s',
    async (kind) => {
      const { client, closed, until } = await open()
      client.resume()
      client.write(Buffer.concat(Array.from({ length: MAX_IDLE_WEBSOCKET_MESSAGES_AT_ONCE }, () => frame(kind, ''))))
      client.write(frame('binary', 'still there'))
      await until('still there')
      client.write(frame(kind, ''))
      expect(await closed).toMatchObject({ code: 'control-flood', message: /^the peer floods the WebSocket with / })
    },
  )

  it.each<[string, Buffer, RegExp]>([
    ['text', frame('text', 'hello'), /sent text/],
    ['frames without a mask', frame('binary', 'hello', { isMasked: false }), /MASK/],
    ['something else', Buffer.from('GET / HTTP/1.1\r\n\r\n'), /RSV|opcode|MASK/],
    [
      'a message that is too long',
      frame('binary', 'x', { claimedBytes: MAX_WEBSOCKET_MESSAGE_BYTES + 1 }),
      /payload size exceeded/,
    ],
    [
      'a message that never ends',
      Buffer.concat([
        frame('binary', 'x', { isLast: false }),
        ...Array.from({ length: MAX_WEBSOCKET_FRAGMENTS }, () => frame('continuation', 'x', { isLast: false })),
      ]),
      /fragments/,
    ],
    ['a close frame that says something is wrong', frame('close', '\x03\xeabad'), /closed the WebSocket with 1002/],
  ])('cuts off who sends %s', async (_, bytes, reason) => {
    const { client, closed, received } = await open()
    client.resume()
    client.write(bytes)
    expect((await closed)?.message).toMatch(reason)
    expect(received()).toBe('')
  })

  it('calls it an error when the client goes without a close frame', async () => {
    const { client, closed } = await open()
    client.resume()
    client.end()
    expect((await closed)?.message).toBe('the WebSocket broke off')
  })
})

describe('a request for a WebSocket', () => {
  const { 'sec-websocket-key': _key, ...withoutKey } = goodHeaders

  it.each<[string, Record<string, string>, string]>([
    ['has no key', withoutKey, 'GET'],
    ['has another version', { ...goodHeaders, 'sec-websocket-version': '7' }, 'GET'],
    ['asks for another protocol', { ...goodHeaders, upgrade: 'spdy/3.1' }, 'GET'],
    ['is no GET', goodHeaders, 'POST'],
  ])('that %s is refused by the caller, who alone answers', async (_, headers, method) => {
    const { client, upgrade } = await request(headers, method)
    expect(() => acceptWebSocket(...upgrade, clock)).toThrow(UpgradeRequestError)
    upgrade[1].end('HTTP/1.1 400 Bad Request\r\n\r\n')
    let answer = ''
    for await (const chunk of client) answer += String(chunk)
    expect(answer).toBe('HTTP/1.1 400 Bad Request\r\n\r\n')
  })

  it('of a client that has gone is refused', async () => {
    const { upgrade } = await request(goodHeaders)
    upgrade[1].destroy()
    expect(() => acceptInnerTls(...upgrade, clock)).toThrow('the client has gone')
  })

  it.each([
    ['causeway.v1', 'causeway.v1'],
    ['causeway.v1.inner-tls', 'causeway.v1.inner-tls'],
    ['other,causeway.v1.inner-tls , causeway.v1', 'causeway.v1.inner-tls'],
  ])('says %s and gets %s', async (offered, expected) => {
    const { upgrade } = await request({ ...goodHeaders, 'sec-websocket-protocol': offered })
    expect(requestedProtocol(upgrade[0])).toBe(expected)
  })

  it('says which subprotocols there are where it names none of them', async () => {
    const { upgrade } = await request({ ...goodHeaders, 'sec-websocket-protocol': 'causeway.v2' })
    expect(() => requestedProtocol(upgrade[0])).toThrow('causeway.v1 and causeway.v1.inner-tls only')
  })
})
