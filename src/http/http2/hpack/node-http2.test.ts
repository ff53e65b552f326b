/**
 * The other implementation as the judge: what node:http2 writes we must read, and what we write it must read, over many
 * heads of one connection and with table sizes changing on the way. The frames around the blocks are written by hand.
 */
import { once } from 'node:events'
import http2, { type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import net, { type AddressInfo, type Socket } from 'node:net'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { HpackDecoder } from './decoder.ts'
import { HpackEncoder } from './encoder.ts'

const frameType = { headers: 1, reset: 3, settings: 4, goAway: 7, continuation: 9 }
const endOfStream = 0x1
const endOfHeaders = 0x4
const acknowledged = 0x1
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const tableSizeSetting = 1

interface Frame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly payload: Buffer
}

function frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9)
  header.writeUIntBE(payload.length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(streamId, 5)
  return Buffer.concat([header, payload])
}

function settings(tableBytes: number): Buffer {
  const payload = Buffer.alloc(6)
  payload.writeUInt16BE(tableSizeSetting, 0)
  payload.writeUInt32BE(tableBytes, 2)
  return frame(frameType.settings, 0, 0, payload)
}

/** Whole frames of a socket, a client's preface skipped, header blocks joined and free of padding and priority. */
async function* framesOf(socket: Socket, skip: number): AsyncGenerator<Frame> {
  let bytes = Buffer.alloc(0)
  let left = skip
  let started: Frame | undefined
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk as Buffer])
    if (bytes.length < left) continue
    bytes = bytes.subarray(left)
    left = 0
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const end = 9 + bytes.readUIntBE(0, 3)
      const [type = 0, flags = 0] = bytes.subarray(3, 5)
      const next = { type, flags, streamId: bytes.readUInt32BE(5), payload: bytes.subarray(9, end) }
      bytes = bytes.subarray(end)
      if (type === frameType.headers) started = withoutPriority(next)
      else if (type === frameType.continuation && started !== undefined) {
        started = { ...started, flags: flags | started.flags, payload: Buffer.concat([started.payload, next.payload]) }
      } else yield next
      if (started === undefined || (started.flags & endOfHeaders) === 0) continue
      yield started
      started = undefined
    }
  }
}

function withoutPriority(headers: Frame): Frame {
  return (headers.flags & 0x20) === 0 ? headers : { ...headers, payload: headers.payload.subarray(5) }
}

const open: { destroy(): unknown }[] = []
const servers: { close(): unknown }[] = []
afterEach(() => {
  for (const one of open.splice(0)) one.destroy()
  for (const server of servers.splice(0)) server.close()
})

/** Visible characters inside, so that neither side has anything to trim or refuse. */
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
const beyondAscii = fc.integer({ min: 0xa1, max: 0xff }).map((code) => String.fromCharCode(code))
const value = fc.oneof(
  fc.constantFrom('', 'gzip', 'application/json', 'kubelet/v1.36.0 (linux/amd64)', 'Bearer abcdefghijklmnopqrstuvwxyz'),
  fc.string({ unit: visible, maxLength: 60 }),
  fc.string({ unit: fc.oneof(visible, beyondAscii), maxLength: 30 }),
  fc.string({ unit: visible, minLength: 700, maxLength: 1200 }),
)
const name = fc.oneof(
  fc.constantFrom('accept', 'user-agent', 'authorization', 'cookie', 'x-a', 'x-b', 'etag', 'accept-encoding'),
  fc
    .string({ unit: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'z', '-', '7'), minLength: 1, maxLength: 12 })
    .map((rest) => `x-${rest}`),
)
const headers = fc.dictionary(name, value, { maxKeys: 9, noNullPrototype: true })

function heads(count: number, seed: number): Record<string, string>[] {
  return fc.sample(headers, { numRuns: count, seed })
}

function pairs(flat: readonly string[]): string[] {
  return flat.flatMap((text, at) => (at % 2 === 0 ? [`${text}: ${flat[at + 1]}`] : [])).toSorted()
}

function flatten(record: Record<string, string>): string[] {
  return Object.entries(record).flat()
}

describe('against node:http2', () => {
  it.each([0, 100, 1000, 4096, 16_384])('reads its requests, with a table of %i bytes', async (tableBytes) => {
    const sent = heads(120, tableBytes + 1)
    const server = net.createServer().listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      maxDeflateDynamicTableSize: 16_384,
    })
    open.push(client)
    client.on('error', () => {})
    const [socket] = (await once(server, 'connection')) as [Socket]
    open.push(socket)
    socket.write(settings(tableBytes))
    await once(client, 'remoteSettings')
    for (const head of sent) {
      client.request({ ':path': '/api', ...head }, { endStream: true }).on('error', () => {})
    }
    const decoder = new HpackDecoder({ maxTableBytes: tableBytes, maxListBytes: 65_536, maxFields: 100 })
    const received: string[][] = []
    for await (const { type, payload } of framesOf(socket, preface.length)) {
      if (type !== frameType.headers) continue
      received.push(decoder.decode(payload).fields)
      if (received.length === sent.length) break
    }
    const { host } = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const start = [':method', 'GET', ':authority', host, ':scheme', 'http', ':path', '/api']
    expect(received.map(pairs)).toEqual(sent.map((head) => pairs([...start, ...flatten(head)])))
  })

  it.each([0, 60, 1000, 16_384])('is read by it, and reads its answers, with a table of %i bytes', async (size) => {
    const requests = heads(60, size + 2)
    const answers = heads(60, size + 3)
    const seen: string[][] = []
    const sizes = [size, 0, 4096, 200, 200, 8192, 33]
    let session: ServerHttp2Session | undefined
    const server = http2.createServer({ settings: { headerTableSize: size } }).listen(0, '127.0.0.1')
    servers.push(server)
    server.on('session', (started) => {
      session = started
      open.push(started)
    })
    server.on('stream', (stream: ServerHttp2Stream, _headers: object, _flags: number, rawHeaders: string[]) => {
      const at = seen.push(rawHeaders) - 1
      // New sizes on the way, sometimes two before the next request: then there is a dip to be told.
      if (at % 5 === 0) session?.settings({ headerTableSize: sizes[(at / 5) % sizes.length] ?? 0 })
      if (at % 10 === 0) session?.settings({ headerTableSize: size })
      stream.respond({ ':status': 200, ...answers[at] }, { endStream: true, sendDate: false } as object)
    })
    await once(server, 'listening')
    const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
    open.push(socket)
    socket.write(Buffer.concat([Buffer.from(preface), settings(size)]))
    const received = await exchange(socket, requests.map(toRequest), size)
    expect(seen).toEqual(requests.map(toRequest))
    expect(received.map(pairs)).toEqual(answers.map((head) => pairs([':status', '200', ...flatten(head)])))
  })
})

function toRequest(head: Record<string, string>): string[] {
  return [':method', 'GET', ':scheme', 'http', ':authority', 'example.test', ':path', '/api', ...flatten(head)]
}

/** One request after the other; the table follows the peer's settings as a real connection would. */
async function exchange(socket: Socket, requests: readonly string[][], tableBytes: number): Promise<string[][]> {
  const encoder = new HpackEncoder(16_384)
  const decoder = new HpackDecoder({ maxTableBytes: tableBytes, maxListBytes: 65_536, maxFields: 100 })
  const received: string[][] = []
  const sendNext = () => {
    const block = encoder.encode(requests[received.length] ?? [])
    socket.write(frame(frameType.headers, endOfStream | endOfHeaders, received.length * 2 + 1, block))
  }
  let isStarted = false
  for await (const { type, flags, payload } of framesOf(socket, 0)) {
    if (type === frameType.goAway || type === frameType.reset) throw new Error(`refused: ${payload.toString('hex')}`)
    if (type === frameType.settings && (flags & acknowledged) === 0) {
      for (let at = 0; at < payload.length; at += 6) {
        if (payload.readUInt16BE(at) === tableSizeSetting) encoder.setPeerTableBytes(payload.readUInt32BE(at + 2))
      }
      socket.write(frame(frameType.settings, acknowledged, 0, Buffer.alloc(0)))
      if (!isStarted) sendNext()
      isStarted = true
    }
    if (type !== frameType.headers) continue
    received.push(decoder.decode(payload).fields)
    if (received.length === requests.length) break
    sendNext()
  }
  return received
}
