/**
 * A deliberately simple second opinion on the HTTP/2 wire: whole frames from whole bytes, header fields written out, and an
 * accountant that watches both directions and knows only the rules, not our code.
 */
export interface NaiveFrame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly payload: Buffer
}

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9

export const END_STREAM = 1
export const ACK = 1
export const END_HEADERS = 4
export const PADDED = 8
export const PRIORITISED = 0x20

export const preface: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export function naiveFrame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(9)
  header.writeUIntBE(payload.length, 0, 3)
  header.writeUInt8(type, 3)
  header.writeUInt8(flags, 4)
  header.writeUInt32BE(streamId, 5)
  return Buffer.concat([header, payload])
}

export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}

export function settings(...pairs: [id: number, value: number][]): Buffer {
  const payload = pairs.map(([id, value]) => Buffer.concat([Buffer.from([id >> 8, id & 255]), uint32(value)]))
  return naiveFrame(SETTINGS, 0, 0, Buffer.concat(payload))
}

export const settingsAck: Buffer = naiveFrame(SETTINGS, ACK, 0)
export const windowUpdate = (id: number, bytes: number): Buffer => naiveFrame(WINDOW_UPDATE, 0, id, uint32(bytes))
export const resetStream = (id: number, code: number): Buffer => naiveFrame(RST_STREAM, 0, id, uint32(code))
export const data = (id: number, payload: Uint8Array, flags = 0): Buffer => naiveFrame(DATA, flags, id, payload)

/** A block that changes no table. */
export function block(...fields: string[]): Buffer {
  const parts: Buffer[] = []
  for (let index = 0; index < fields.length; index += 2)
    parts.push(Buffer.from([0]), text(fields[index] ?? ''), text(fields[index + 1] ?? ''))
  return Buffer.concat(parts)
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  const length: number[] = []
  if (bytes.length < 127) length.push(bytes.length)
  else {
    let rest = bytes.length - 127
    length.push(127)
    for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128)
    length.push(rest)
  }
  return Buffer.concat([Buffer.from(length), bytes])
}

export const head = (id: number, fields: readonly string[], flags = 0): Buffer =>
  naiveFrame(HEADERS, END_HEADERS | flags, id, block(...fields))

export const getFields: readonly string[] = [':method', 'GET', ':scheme', 'https', ':authority', 'a', ':path', '/']
export const postFields: readonly string[] = [':method', 'POST', ':scheme', 'https', ':authority', 'a', ':path', '/']

/** All complete frames at the start of `bytes`, and what is left over. */
export function naiveDecode(bytes: Buffer): { frames: NaiveFrame[]; rest: Buffer } {
  const frames: NaiveFrame[] = []
  let rest = bytes
  while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
    const end = 9 + rest.readUIntBE(0, 3)
    const streamId = rest.readUInt32BE(5)
    frames.push({ type: rest.readUInt8(3), flags: rest.readUInt8(4), streamId, payload: rest.subarray(9, end) })
    rest = rest.subarray(end)
  }
  return { frames, rest }
}

type Side = 'client' | 'server'

interface Books {
  unparsedSent: Buffer
  unparsedGot: Buffer
  /** What this side may still send. */
  connectionLeft: number
  readonly streamLeft: Map<number, number>
  /** What the other side has told it that new streams have, once it has said that it knows. */
  initialWindow: number
  /** Settings of the other side that this side has not acknowledged. */
  readonly unknown: (number | undefined)[]
  readonly ended: Set<number>
  readonly reset: Set<number>
  readonly opened: Set<number>
  inBlock: number
}

/** Watches two directions and throws at the first frame that a correct peer would not send. */
export class WireAccountant {
  readonly #books: Record<Side, Books> = { client: newBooks(), server: newBooks() }
  #prefaceLeft = preface.length
  frames = 0
  readonly #dataBytes = new Map<string, number>()
  readonly #givenBytes = new Map<string, number>()

  /** `from` has handed the bytes to its transport. */
  sent(from: Side, bytes: Buffer): void {
    let fresh = bytes
    if (from === 'client' && this.#prefaceLeft > 0) {
      const taken = Math.min(this.#prefaceLeft, fresh.length)
      this.#prefaceLeft -= taken
      fresh = fresh.subarray(taken)
    }
    const books = this.#books[from]
    const { frames, rest } = naiveDecode(Buffer.concat([books.unparsedSent, fresh]))
    books.unparsedSent = rest
    for (const frame of frames) this.#judge(from, frame)
    this.frames += frames.length
  }

  /** `to` is about to get the bytes: credit counts from here on. */
  delivered(to: Side, bytes: Buffer): void {
    const books = this.#books[to]
    const skipped = to === 'server' ? this.#skipPreface(bytes) : bytes
    const { frames, rest } = naiveDecode(Buffer.concat([books.unparsedGot, skipped]))
    books.unparsedGot = rest
    for (const { type, streamId, payload } of frames) {
      if (type !== WINDOW_UPDATE) continue
      const increment = payload.readUInt32BE(0)
      rule(increment > 0, `a window update of nothing on stream ${streamId}`)
      if (streamId === 0) books.connectionLeft += increment
      else books.streamLeft.set(streamId, this.#left(books, streamId) + increment)
    }
  }

  /** Of the body that one side has sent on a stream so far, or on all of them for 0. */
  bodyBytes(from: Side, streamId: number): number {
    return this.#dataBytes.get(`${from} ${streamId}`) ?? 0
  }

  #deliveredPreface = 0

  #skipPreface(bytes: Buffer): Buffer {
    const taken = Math.min(preface.length - this.#deliveredPreface, bytes.length)
    this.#deliveredPreface += taken
    return bytes.subarray(taken)
  }

  #left(books: Books, streamId: number): number {
    return books.streamLeft.get(streamId) ?? books.initialWindow
  }

  #judge(from: Side, frame: NaiveFrame): void {
    const { type, flags, streamId, payload } = frame
    const mine = this.#books[from]
    rule(payload.length <= 16_384, 'a frame that is too long')
    rule(mine.inBlock === 0 || (type === CONTINUATION && streamId === mine.inBlock), 'a frame within a head')
    if (type === SETTINGS) this.#settings(from, flags, payload)
    if (type === DATA) this.#data(from, streamId, payload.length)
    if (type === HEADERS) {
      mine.opened.add(streamId)
      if (!mine.streamLeft.has(streamId)) mine.streamLeft.set(streamId, mine.initialWindow)
      const other = this.#books[from === 'client' ? 'server' : 'client']
      if (!other.streamLeft.has(streamId)) other.streamLeft.set(streamId, other.initialWindow)
    }
    if (type === HEADERS || type === CONTINUATION) mine.inBlock = (flags & END_HEADERS) === 0 ? streamId : 0
    if (type === DATA || type === HEADERS) {
      rule(!mine.ended.has(streamId), `more on stream ${streamId} after its end`)
      rule(!mine.reset.has(streamId), `more on stream ${streamId} after its reset`)
      if ((flags & END_STREAM) !== 0) mine.ended.add(streamId)
    }
    if (type === WINDOW_UPDATE) this.#credit(from, streamId, payload.readUInt32BE(0))
    if (type === RST_STREAM) {
      rule(!mine.reset.has(streamId), `a second reset of stream ${streamId}`)
      mine.reset.add(streamId)
    }
  }

  #data(from: Side, streamId: number, bytes: number): void {
    const mine = this.#books[from]
    rule(mine.opened.has(streamId), `a body before its head on stream ${streamId}`)
    for (const id of [0, streamId]) this.#dataBytes.set(`${from} ${id}`, this.bodyBytes(from, id) + bytes)
    mine.connectionLeft -= bytes
    const left = this.#left(mine, streamId) - bytes
    mine.streamLeft.set(streamId, left)
    rule(bytes === 0 || mine.connectionLeft >= 0, `${-mine.connectionLeft} bytes more than the connection takes`)
    rule(bytes === 0 || left >= 0, `${-left} bytes more than stream ${streamId} takes`)
  }

  /** Nobody gives back more than came; the connection once, at the beginning. */
  #credit(from: Side, streamId: number, bytes: number): void {
    const sender = from === 'client' ? 'server' : 'client'
    rule(!this.#books[from].reset.has(streamId), `a window for stream ${streamId}, which was reset`)
    const came = this.bodyBytes(sender, streamId)
    const key = `${from} ${streamId}`
    const given = (this.#givenBytes.get(key) ?? 0) + bytes
    if (streamId === 0 && came === 0) return
    this.#givenBytes.set(key, given)
    rule(given <= came, `${given} bytes given back on stream ${streamId}, where ${came} came`)
  }

  #settings(from: Side, flags: number, payload: Buffer): void {
    const other = this.#books[from === 'client' ? 'server' : 'client']
    if ((flags & ACK) === 0) {
      let initial: number | undefined
      for (let at = 0; at < payload.length; at += 6)
        if (payload.readUInt16BE(at) === 4) initial = payload.readUInt32BE(at + 2)
      other.unknown.push(initial)
      return
    }
    const mine = this.#books[from]
    rule(mine.unknown.length > 0, 'an acknowledgement of nothing')
    const initial = mine.unknown.shift()
    if (initial === undefined) return
    const shift = initial - mine.initialWindow
    mine.initialWindow = initial
    for (const [id, left] of mine.streamLeft) mine.streamLeft.set(id, left + shift)
  }
}

function newBooks(): Books {
  return {
    unparsedSent: Buffer.alloc(0),
    unparsedGot: Buffer.alloc(0),
    connectionLeft: 65_535,
    streamLeft: new Map(),
    initialWindow: 65_535,
    unknown: [],
    ended: new Set(),
    reset: new Set(),
    opened: new Set(),
    inBlock: 0,
  }
}

function rule(holds: boolean, breach: string): void {
  if (!holds) throw new Error(`accountant: ${breach}`)
}
