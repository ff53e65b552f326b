/** Many requests in one piece: what one read brings is not served in one go. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CLIENT_PREFACE, Flag, FrameType, frame } from '../../src/http/http2/wire.ts'
import { expectShortTurnsDuring } from './limit.ts'
import { MeteredServer } from './metered-server.ts'

/** As many as a connection may have open. */
const requestsAtOnce = 250
const selector = Array.from({ length: 900 }, (_, index) => `!${index.toString(36)}`).join(',')
const path = `/api/v1/pods?labelSelector=${selector}`
const server = new MeteredServer()

beforeAll(() => server.start())
afterAll(() => server.stop())

async function connected(protocol: string): Promise<TLSSocket> {
  const socket = connect({ ...server.connectOptions, ALPNProtocols: [protocol] })
  await once(socket, 'secureConnect')
  return socket
}

/** Sends all at once, and ends with the answer behind which `isAll` holds. */
async function exchange(socket: TLSSocket, bytes: Buffer, isAll: (received: Buffer) => boolean): Promise<Buffer> {
  const pieces: Buffer[] = []
  socket.write(bytes)
  for await (const piece of socket as AsyncIterable<Buffer>) {
    pieces.push(piece)
    const all = Buffer.concat(pieces)
    if (isAll(all)) return all
  }
  throw new Error('the connection ended before all was answered')
}

function hpackInteger(value: number, prefixBits: number, pattern: number): Buffer {
  const max = 2 ** prefixBits - 1
  if (value < max) return Buffer.from([pattern | value])
  const bytes = [pattern | max]
  let rest = value - max
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return Buffer.from([...bytes, rest])
}

function indexedLater(nameIndex: number, value: string): Buffer {
  return Buffer.concat([hpackInteger(nameIndex, 6, 0x40), hpackInteger(value.length, 7, 0), Buffer.from(value)])
}

const [getMethod, httpsScheme, latestEntry] = [0x82, 0x87, 0xbe]
const [pathName, authorizationName] = [4, 23]

/** The first head tells the path, and all others point to it: a few bytes each. */
function heads(authorization: string | undefined): Buffer {
  const plain = Buffer.from([getMethod, httpsScheme])
  const first = [plain, indexedLater(pathName, path)]
  const next = [plain, Buffer.from([latestEntry])]
  if (authorization !== undefined) {
    const literal = Buffer.concat([
      hpackInteger(authorizationName, 4, 0x10),
      hpackInteger(authorization.length, 7, 0),
      Buffer.from(authorization),
    ])
    first.push(literal)
    next.push(literal)
  }
  const blocks = Array.from({ length: requestsAtOnce }, (_, index) => Buffer.concat(index === 0 ? first : next))
  const flags = Flag.endHeaders | Flag.endStream
  return Buffer.concat(blocks.map((block, index) => headFrame(flags, 1 + 2 * index, block)))
}

function headFrame(flags: number, streamId: number, block: Buffer): Buffer {
  const bytes = frame(FrameType.headers, flags, streamId, block.length)
  block.copy(bytes, bytes.length - block.length)
  return bytes
}

/** Frames with the flag that ends a stream. */
function endedStreams(received: Buffer): number {
  let count = 0
  for (let at = 0; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
    const type = received.readUInt8(at + 3)
    const isEnd = (received.readUInt8(at + 4) & Flag.endStream) !== 0
    if (isEnd && (type === FrameType.data || type === FrameType.headers)) count += 1
  }
  return count
}

async function http2Flood(authorization?: string): Promise<void> {
  const socket = await connected('h2')
  const begin = Buffer.concat([CLIENT_PREFACE, frame(FrameType.settings, 0, 0, 0)])
  await exchange(socket, Buffer.concat([begin, heads(authorization)]), (all) => endedStreams(all) === requestsAtOnce)
}

async function http1Flood(): Promise<void> {
  const socket = await connected('http/1.1')
  const one = `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`
  const isAll = (all: Buffer): boolean => all.toString('latin1').split('HTTP/1.1 403').length > requestsAtOnce
  await exchange(socket, Buffer.from(one.repeat(requestsAtOnce)), isAll)
}

it('250 requests of a stranger in one piece of HTTP/2 stall nobody', async () => {
  await expectShortTurnsDuring(server, 'one piece of HTTP/2', () => http2Flood())
})

it('250 lists of somebody with rights in one piece of HTTP/2 stall nobody', async () => {
  await expectShortTurnsDuring(server, 'one piece of lists', () => http2Flood(server.bearer))
})

it('250 requests in a row on HTTP/1.1 stall nobody', async () => {
  await expectShortTurnsDuring(server, 'one piece of HTTP/1.1', http1Flood)
})

it('requests of 40 connections at the same moment stall nobody', async () => {
  const flood = (): Promise<unknown> => Promise.all(Array.from({ length: 40 }, () => http2Flood()))
  await expectShortTurnsDuring(server, '40 pieces of HTTP/2', flood)
  expect(server.isAlive).toBe(true)
})
